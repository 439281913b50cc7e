#include "compare/confirmation.hpp"

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "report/report_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace nf4bench::compare {
namespace {

bool is_doubtful(const ComparedCell& cell) {
  return cell.ruling.verdict == CellVerdict::kSlower || cell.ruling.verdict == CellVerdict::kUnsure;
}

std::string doubtful_variants(const ComparisonResult& result) {
  std::set<std::string> variants;
  for (const ComparedCell& cell : result.cells) {
    if (is_doubtful(cell)) variants.insert(cell.key.variant);
  }
  return fmt::format("{}", fmt::join(variants, ","));
}

// The exit status of `command` under /bin/sh; 128 + its number when a signal ended it.
int run_shell(const std::string& command, const std::string& json, const std::string& variants) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("NF4BENCH_CONFIRM_JSON", json.c_str(), 1);
    setenv("NF4BENCH_CONFIRM_VARIANTS", variants.c_str(), 1);
    dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout holds the comparison and nothing else
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

bool has_doubtful_cell(const ComparisonResult& result) {
  return std::any_of(result.cells.begin(), result.cells.end(), is_doubtful);
}

report::NamedReport run_confirmation(const std::string& command, const ComparisonResult& result) {
  const TemporaryFolder folder("confirm");
  const std::string json = (folder.path() / "confirm.json").string();
  const int status = run_shell(command, json, doubtful_variants(result));
  if (status != 0) {
    throw Error(ErrorKind::kInput, fmt::format("the confirming run ended with exit code {}: {}",
                                               status, escaped(command)));
  }
  if (!std::filesystem::exists(json)) {
    throw Error(ErrorKind::kInput,
                fmt::format("the confirming run wrote no report to $NF4BENCH_CONFIRM_JSON: {}",
                            escaped(command)));
  }
  report::NamedReport report = report::read_report(json);
  report.name = "confirming run";
  return report;
}

}  // namespace nf4bench::compare
