#include "base/error.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

namespace nf4bench {

ExitCode exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return ExitCode::kUsage;
    case ErrorKind::kInput:
    case ErrorKind::kOutput:
      return ExitCode::kBadInput;
    case ErrorKind::kVerification:
      return ExitCode::kVerificationFailed;
    case ErrorKind::kDevice:
      return ExitCode::kNoDevice;
    case ErrorKind::kNotComparable:
      return ExitCode::kNotComparable;
  }
  return ExitCode::kUsage;
}

Error input_error(std::string_view where, std::string_view what) {
  return {ErrorKind::kInput, "{}: {}", where, what};
}

Error input_error(std::string_view where, std::string_view field, std::string_view found,
                  std::string_view wanted) {
  return {ErrorKind::kInput, "{}: {}: found {}, wanted {}", where, field, found, wanted};
}

std::string in_quotes(std::string_view name) {
  return fmt::format("\"{}\"", escaped(name));
}

}  // namespace nf4bench
