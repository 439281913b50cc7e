#include "compare/gate.hpp"

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "report/report.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace nf4bench::compare {
namespace {

void add_count(std::vector<std::string>& reasons, const ComparisonResult& result,
               CellVerdict verdict) {
  const std::int64_t count = result.count(verdict);
  if (count > 0) {
    reasons.push_back(fmt::format("{} {}", text::format_count(count, "cell"), to_string(verdict)));
  }
}

}  // namespace

GateDecision decide_gate(const ComparisonResult& result, Strictness strictness) {
  GateDecision decision;
  if (!result.is_comparable) {
    return {ExitCode::kNotComparable, {"the reports are not comparable"}};
  }
  decision.reasons = result.faults;
  if (result.measured() == 0) decision.reasons.emplace_back("no cell was measured on both sides");
  add_count(decision.reasons, result, CellVerdict::kInvalid);
  add_count(decision.reasons, result, CellVerdict::kMissing);
  add_count(decision.reasons, result, CellVerdict::kSlower);
  if (!decision.reasons.empty()) {
    decision.code = ExitCode::kGateFailed;
  } else if (result.count(CellVerdict::kUnsure) == std::ssize(result.cells)) {
    decision = {ExitCode::kInconclusive, {"no cell was decided"}};
  } else if (strictness == Strictness::kStrict && result.count(CellVerdict::kUnsure) > 0) {
    add_count(decision.reasons, result, CellVerdict::kUnsure);
    decision.code = ExitCode::kInconclusive;
  }
  return decision;
}

json::JsonText gate_json(const GateDecision* decision) {
  if (decision == nullptr) return json::json_null();
  return json::json_object({{"passed", decision->code == ExitCode::kOk},
                            {"exit_code", static_cast<int>(decision->code)},
                            {"reasons", decision->reasons}});
}

namespace {

bool has_passed_row(const record::Report& report) {
  return std::ranges::any_of(report.measurements, [](const record::Measurement& m) {
    return m.status == record::Status::kPassed;
  });
}

// All that is left of samples that a report leaves out; 0 of what was not timed.
double median_of(const record::Measurement& m) {
  return m.time_s ? m.time_s->median : 0.0;
}

}  // namespace

bool is_same_run(const record::Report& a, const record::Report& b) {
  return a.started_at == b.started_at && has_passed_row(a) &&
         std::equal(a.measurements.begin(), a.measurements.end(), b.measurements.begin(),
                    b.measurements.end(),
                    [](const record::Measurement& left, const record::Measurement& right) {
                      return left.samples_s == right.samples_s &&
                             median_of(left) == median_of(right);
                    });
}

std::vector<std::string> find_report_faults(const std::vector<report::NamedReport>& base,
                                            const std::vector<report::NamedReport>& fresh) {
  std::vector<const report::NamedReport*> all;
  all.reserve(base.size() + fresh.size());
  for (const report::NamedReport& each : base) all.push_back(&each);
  for (const report::NamedReport& each : fresh) all.push_back(&each);
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!has_passed_row(all[i]->report)) {
      faults.push_back(fmt::format("{} holds no measurement that passed", escaped(all[i]->name)));
    } else if (!all[i]->report.complete) {
      faults.push_back(
          fmt::format("{} is incomplete: its run did not finish", escaped(all[i]->name)));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (is_same_run(all[i]->report, all[j]->report)) {
        faults.push_back(fmt::format("{} and {} hold the same run", escaped(all[j]->name),
                                     escaped(all[i]->name)));
      }
    }
  }
  return faults;
}

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
  return std::ranges::any_of(result.cells, is_doubtful);
}

report::NamedReport run_confirmation(const std::string& command, const ComparisonResult& result) {
  const TemporaryFolder folder("confirm");
  const std::string json = (folder.path() / "confirm.json").string();
  const int status = run_shell(command, json, doubtful_variants(result));
  if (status != 0) {
    throw Error(ErrorKind::kInput, "the confirming run ended with exit code {}: {}", status,
                escaped(command));
  }
  if (!std::filesystem::exists(json)) {
    throw Error(ErrorKind::kInput,
                "the confirming run wrote no report to $NF4BENCH_CONFIRM_JSON: {}",
                escaped(command));
  }
  report::NamedReport report = report::read_report(json);
  report.name = "confirming run";
  return report;
}

void require_baselines(const std::vector<report::NamedReport>& reports) {
  const std::vector<std::string> faults = find_report_faults({}, reports);
  if (!faults.empty()) {
    throw Error(ErrorKind::kInput, "{}; such a report is no baseline", faults.front());
  }
  for (const report::NamedReport& named : reports) {
    for (const record::Measurement& m : named.report.measurements) {
      if (m.status != record::Status::kFailed && m.status != record::Status::kInvalid) continue;
      throw Error(ErrorKind::kInput, "{}: {} of {} {}: {}; such a report is no baseline",
                  escaped(named.name), escaped(m.variant), escaped(m.cell.tensor),
                  to_string(m.status), escaped(m.reason, 400));
    }
  }
}

}  // namespace nf4bench::compare
