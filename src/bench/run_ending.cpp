#include "bench/run_ending.hpp"

#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "report/host.hpp"
#include "report/tables.hpp"
#include "text/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <set>

namespace nf4bench::bench {
namespace {

ExitCode verdict(const record::Report& report) {
  if (!report.complete) return interruption().value_or(ExitCode::kInterrupted);
  const auto has = [&](record::Status status) {
    return std::ranges::any_of(
        report.measurements, [status](const record::Measurement& m) { return m.status == status; });
  };
  if (has(record::Status::kFailed)) return ExitCode::kVerificationFailed;
  return has(record::Status::kPassed) ? ExitCode::kOk : ExitCode::kInconclusive;
}

// The reason of the first row with one of these statuses of each variant, for whoever sees no
// table.
void show_reasons(const record::Report& report, std::initializer_list<record::Status> statuses) {
  std::set<std::string> told;
  for (const record::Measurement& m : report.measurements) {
    if (std::ranges::find(statuses, m.status) == statuses.end()) continue;
    if (!told.insert(m.variant).second) continue;
    const auto tensor = std::ranges::find(report.tensors, m.cell.tensor, &record::ReportTensor::id);
    const std::string& name = tensor == report.tensors.end() ? m.cell.tensor : tensor->name;
    write_stderr(fmt::format("nf4bench: {} {} on {}: {}\n", escaped(m.variant), to_string(m.status),
                             escaped(name), printable(m.reason)));
  }
}

// "; their reasons are in the table and the report", as far as there are these.
std::string where_reasons_are(const record::RunOptions& options) {
  std::string places = options.quiet ? "" : "the table";
  if (!options.json.empty()) places += places.empty() ? "the report" : " and the report";
  return places.empty() ? "" : "; their reasons are in " + places;
}

// What is easily overlooked in the table, on stderr.
void explain_verdict(ExitCode code, const record::Report& report,
                     const record::RunOptions& options) {
  if (code == ExitCode::kVerificationFailed) {
    if (options.quiet) show_reasons(report, {record::Status::kFailed});
    const auto failed = std::ranges::count(report.measurements, record::Status::kFailed,
                                           &record::Measurement::status);
    write_stderr(fmt::format("nf4bench: {} of {} measurements failed{}\n", failed,
                             report.measurements.size(), where_reasons_are(options)));
  } else if (code == ExitCode::kInconclusive) {
    if (options.quiet) {
      show_reasons(report, {record::Status::kSkipped, record::Status::kInvalid});
    }
    write_stderr(fmt::format("nf4bench: none of {} measurements passed{}\n",
                             report.measurements.size(), where_reasons_are(options)));
  } else if (code != ExitCode::kOk) {
    const bool kept = !options.json.empty();
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
  explain_verdict(code, report_, options_);
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
  text::show_beside(options_.json == "-",
                    [this](const text::Style& style) { return report::to_table(report_, style); });
}

}  // namespace nf4bench::bench
