#include "cli/app.hpp"

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/usage_error.hpp"
#include "cli/parser.hpp"
#include "cli/signals.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <string>
#include <vector>

namespace nf4bench::cli {
namespace {

using Outcome = ParseResult::Outcome;

// What is wrong with a command line, apart from what is missing; empty when nothing is wrong.
std::string problem_of(const std::vector<std::string>& argv) {
  const ParseResult result = Parser().parse(argv);
  return result.outcome == Outcome::kRefused ? result.text : "";
}

// Parses and runs `line`. Messages are about `typed`, the line that the user knows.
ExitCode run_complete(const CommandLine& line, const std::vector<std::string>& typed) {
  Parser parser;
  const ParseResult result = parser.parse(line.argv);
  if (result.outcome != Outcome::kParsed) {
    throw Error(ErrorKind::kUsage, explain_usage_error(parser.views(), result.text, typed));
  }
  const std::vector<CommandView> views = parser.views();
  return parser.run({.argv = line.argv, .config = line.config, .command = *given_command(views)});
}

ExitCode run_command_line(const std::vector<std::string>& argv) {
  Parser parser;
  const ParseResult result = parser.parse(argv);
  const std::vector<CommandView> views = parser.views();
  if (result.outcome == Outcome::kRefused) {
    throw Error(ErrorKind::kUsage, explain_usage_error(views, result.text, argv));
  }
  if (result.outcome == Outcome::kAnswered) {
    write_stdout(result.text);
    return ExitCode::kOk;
  }
  const CommandLine line = complete(argv, views, problem_of);
  for (const std::string& warning : line.warnings) {
    write_stderr(fmt::format("nf4bench: warning: {}\n", warning));
  }
  try {
    return run_complete(line, argv);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    throw Error(ErrorKind::kUsage, error.what() + origins_of(error.what(), line.settings));
  }
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
