#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace nf4bench {

// What kind of failure it was; decides the exit code (see exit_code()).
enum class ErrorKind {
  kUsage,          // the command line asks for something impossible
  kInput,          // a file is missing, damaged, hostile or of another kind
  kVerification,   // an output differs from the reference
  kDevice,         // no usable device, or a CUDA call failed
  kOutput,         // a result could not be written
  kNotComparable,  // there is nothing that a report may be compared with
};

// The one exception type. The message says what, where, found, wanted and what to do, in one line.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  template <class... Parts>
  requires(sizeof...(Parts) > 0)
      Error(ErrorKind kind, fmt::format_string<Parts...> format, Parts&&... parts)
      : Error(kind, fmt::format(format, std::forward<Parts>(parts)...)) {}

  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// Process exit codes; the documented contract of the command line.
enum class ExitCode : int {
  kOk = 0,
  kGateFailed = 1,
  kUsage = 2,
  kBadInput = 3,
  kVerificationFailed = 4,
  kNoDevice = 5,
  kInconclusive = 6,
  kNotComparable = 7,
  kInterrupted = 130,
  kTerminated = 143,
};

// The exit code that an uncaught error of this kind ends the process with.
ExitCode exit_code(ErrorKind kind);

// The error every reader of an input throws: "<where>: <what>", kind kInput. `where` must be safe
// to print: parts of it that come from a file have been through escaped().
Error input_error(std::string_view where, std::string_view what);

// "<where>: <field>: found <found>, wanted <wanted>".
Error input_error(std::string_view where, std::string_view field, std::string_view found,
                  std::string_view wanted);

// `name` in double quotes, with everything escaped that could disturb a terminal.
std::string in_quotes(std::string_view name);

}  // namespace nf4bench
