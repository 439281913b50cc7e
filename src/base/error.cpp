#include "base/error.hpp"

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

}  // namespace nf4bench
