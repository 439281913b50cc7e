#include "cli/app.hpp"

#include "base/error.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "cli/parser.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <string>
#include <vector>

namespace nf4bench::cli {
namespace {

ExitCode run_command_line(const std::vector<std::string>& argv) {
  Parser parser;
  const std::string answer = parser.parse(argv);
  if (answer.empty()) return parser.run();
  write_stdout(answer);
  return ExitCode::kOk;
}

ExitCode report_failure(const std::string& message, ExitCode code) {
  write_stderr(fmt::format("nf4bench: error: {}\n", message));
  return code;
}

}  // namespace

int run_app(int argc, char** argv) {
  ExitCode code = ExitCode::kUsage;
  try {
    code = run_command_line(std::vector<std::string>(argv, argv + argc));
  } catch (const Error& error) {
    const auto signalled = interruption();
    code = report_failure(error.what(), signalled.value_or(exit_code(error.kind())));
  } catch (const std::bad_alloc&) {
    code = report_failure("out of memory; choose fewer or smaller tensors", ExitCode::kBadInput);
  } catch (const std::exception& error) {
    code = report_failure(fmt::format("unexpected: {}", error.what()), ExitCode::kBadInput);
  }
  return static_cast<int>(code);
}

}  // namespace nf4bench::cli
