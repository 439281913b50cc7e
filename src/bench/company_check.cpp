#include "bench/company_check.hpp"

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "bench/child_run.hpp"
#include "record/samples.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::bench {
namespace {

// A lock would make each of these processes warn of the one that waits for it.
ChildCommand command_for(const CompanyMember& member, record::RunOptions options) {
  options.operations = {member.operation};
  options.variants = {member.variant};
  options.baseline = "none";
  options.json = std::string("-");  // GCC 12 sees an overflow in a literal here
  options.quiet = true;
  options.measure_stream_shapes = false;
  options.measure_energy = false;
  options.check_company = false;
  options.why.clear();
  options.peers_are_optional = true;  // the run itself has told
  return run_command_for(options, {"NF4BENCH_LOCKS=", "NF4BENCH_PROGRESS="});
}

// The rows of a run of `member` alone; a warning and none when there is no such report.
std::vector<record::Measurement> rows_alone(record::Report& report, const CompanyMember& member,
                                            const CompanyCheck& check) {
  const ChildOutcome outcome =
      run_children({command_for(member, check.options)},
                   {.interrupted = check.interrupted, .stop_signal = signal_for_children})
          .front();
  if (check.interrupted.load()) return {};
  try {
    auto rows = report::report_from_json(outcome.out, "its report").measurements;
    const auto failed =
        std::ranges::find(rows, record::Status::kFailed, &record::Measurement::status);
    if (failed != rows.end()) {
      report.warnings.push_back(
          fmt::format("{} could not be measured alone: {}", member.variant, failed->reason));
    }
    return rows;
  } catch (const Error& error) {
    const std::string said = outcome.err.empty() ? error.what() : outcome.err;
    report.warnings.push_back(
        fmt::format("{} could not be measured alone: its process ended with exit code {} ({})",
                    member.variant, outcome.exit_code, escaped(said)));
    return {};
  }
}

// Gives `m` the median of its cell among `rows`, unless it has one that agrees.
void note_alone(record::Measurement& m, const std::vector<record::Measurement>& rows) {
  if (m.alone && !record::depends_on_company(m)) return;
  for (const record::Measurement& row : rows) {
    if (row.cell != m.cell || row.status != record::Status::kPassed || !row.time_s) continue;
    m.alone = {.median_s = row.time_s->median,
               .ci95 = row.time_s->ci95,
               .sm_clock_hz = record::mean_clock_hz(row)};
  }
}

void check_member(record::Report& report, const CompanyMember& member, const CompanyCheck& check) {
  std::vector<record::Measurement*> own;
  for (record::Measurement& m : report.measurements) {
    const bool is_own = m.cell.operation == member.operation && m.variant == member.variant;
    if (is_own && m.status == record::Status::kPassed && m.time_s) own.push_back(&m);
  }
  if (own.empty()) return;
  constexpr int kAttempts = 2;
  for (int attempt = 0; attempt < kAttempts && !check.interrupted.load(); ++attempt) {
    const std::vector<record::Measurement> rows = rows_alone(report, member, check);
    if (rows.empty()) return;
    for (record::Measurement* m : own) note_alone(*m, rows);
    const bool is_settled = std::ranges::none_of(
        own, [](const record::Measurement* m) { return record::depends_on_company(*m); });
    if (is_settled) return;
  }
}

}  // namespace

void check_company(record::Report& report, const CompanyCheck& check) {
  const auto count = static_cast<double>(check.members.size());
  for (std::size_t i = 0; i < check.members.size() && !check.interrupted.load(); ++i) {
    const CompanyMember& member = check.members[i];
    if (check.on_progress) {
      check.on_progress(static_cast<double>(i) / count,
                        fmt::format("{} {} alone", member.operation, member.variant));
    }
    check_member(report, member, check);
  }
}

}  // namespace nf4bench::bench
