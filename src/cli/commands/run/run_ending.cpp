#include "cli/commands/run/run_ending.hpp"

#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "report/host.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

ExitCode verdict(const record::Report& report) {
  if (!report.complete) return interruption().value_or(ExitCode::kInterrupted);
  const auto has = [&](record::Status status) {
    return std::any_of(report.measurements.begin(), report.measurements.end(),
                       [status](const record::Measurement& m) { return m.status == status; });
  };
  if (has(record::Status::kFailed)) return ExitCode::kVerificationFailed;
  return has(record::Status::kPassed) ? ExitCode::kOk : ExitCode::kInconclusive;
}

// One line on stderr for an outcome that is easily overlooked in the table.
void explain_verdict(ExitCode code, const record::Report& report, const std::string& json) {
  if (code == ExitCode::kVerificationFailed) {
    const auto failed = std::count_if(
        report.measurements.begin(), report.measurements.end(),
        [](const record::Measurement& m) { return m.status == record::Status::kFailed; });
    write_stderr(
        fmt::format("nf4bench: {} of {} measurements failed; their reasons are in the "
                    "table and the report\n",
                    failed, report.measurements.size()));
  } else if (code == ExitCode::kInconclusive) {
    write_stderr("nf4bench: nothing passed; see the reasons in the table and the report\n");
  } else if (code != ExitCode::kOk) {
    const bool kept = !json.empty();
    write_stderr(fmt::format("nf4bench: interrupted after {} measurements{}\n",
                             report.measurements.size(),
                             kept ? "; the report so far is kept" : ""));
  }
}

}  // namespace

ExitCode RunEnding::publish() const {
  try {
    file_.finish();
  } catch (const Error&) {
    show_table();
    throw;
  }
  show_table();
  const ExitCode code = verdict(report_);
  explain_verdict(code, report_, options_.json);
  return code;
}

void RunEnding::break_off(const std::string& problem) const {
  report_.warnings.push_back("the run ended early: " + problem);
  report_.finished_at = report::utc_now();
  try {
    file_.finish();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the first error counts
  }
  try {
    if (!report_.measurements.empty()) show_table();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the same
  }
}

void RunEnding::abandon(const std::string& problem) const {
  break_off(problem);
  write_stderr(
      fmt::format("nf4bench: error: {}; a call cannot be stopped, so that the run ends "
                  "here (--call-timeout sets the limit)\n",
                  problem));
  std::_Exit(static_cast<int>(interruption().value_or(ExitCode::kNoDevice)));
}

void RunEnding::show_table() const {
  if (options_.quiet) return;
  const bool stdout_is_taken = options_.json == "-";
  const Terminal terminal = terminal_of(stdout_is_taken ? STDERR_FILENO : STDOUT_FILENO);
  const std::string table = report::to_table(report_, text::report_style(terminal));
  if (stdout_is_taken) {
    draw_on_stderr(table);
  } else {
    write_stdout(table);
  }
}

}  // namespace nf4bench::cli
