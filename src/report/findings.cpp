#include "report/findings.hpp"

#include "record/samples.hpp"
#include "report/report.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nf4bench::report {
namespace {

constexpr std::size_t kTimesNamed = 12;

std::string finding_of(const record::Measurement& m) {
  const text::TimeScale scale = text::time_scale({m.time_s->median, m.alone->median_s});
  return fmt::format("{} at {} {} takes {} in company and {} alone ({:+.1f} %).", m.variant,
                     m.cell.tensor, cell_words(m.cell), text::format_time(m.time_s->median, scale),
                     text::format_time(m.alone->median_s, scale),
                     100.0 * record::cost_of_company(m));
}

// The greatest difference first.
std::vector<const record::Measurement*> dependent_ones(const record::Report& report) {
  std::vector<const record::Measurement*> found;
  for (const record::Measurement& m : report.measurements) {
    if (record::depends_on_company(m)) found.push_back(&m);
  }
  std::ranges::stable_sort(found, [](const record::Measurement* a, const record::Measurement* b) {
    return std::abs(record::cost_of_company(*a)) > std::abs(record::cost_of_company(*b));
  });
  return found;
}

constexpr double kManyThrottled = 0.10;  // of a measurement's samples
constexpr std::size_t kCellsNamed = 8;

// The hardest hit measurement of each cell that has one with many throttled samples.
std::vector<const record::Measurement*> throttled_cells(const record::Report& report) {
  std::vector<const record::Measurement*> cells;
  for (const record::Measurement& m : report.measurements) {
    if (record::throttled_share(m) <= kManyThrottled) continue;
    const auto cell = std::ranges::find_if(
        cells, [&](const record::Measurement* other) { return other->cell == m.cell; });
    if (cell == cells.end()) {
      cells.push_back(&m);
    } else if (record::throttled_share(**cell) < record::throttled_share(m)) {
      *cell = &m;
    }
  }
  return cells;
}

std::string cell_warning(const std::vector<const record::Measurement*>& cells) {
  std::vector<std::string> names;
  for (const record::Measurement* m : cells) {
    if (names.size() == kCellsNamed) break;
    names.push_back(fmt::format("{} {} ({} {:.0f} %)", m->cell.tensor, cell_words(m->cell),
                                m->variant, 100.0 * record::throttled_share(*m)));
  }
  if (cells.size() > names.size()) {
    names.push_back(fmt::format("and {} more", cells.size() - names.size()));
  }
  return fmt::format(
      "Over {:.0f} % of the samples had an SM clock more than {:.0f} % under the highest of their "
      "variant, in these cells (worst variant, its share): {}.",
      100.0 * kManyThrottled, 100.0 * record::kThrottledBelowHighest, fmt::join(names, ", "));
}

// Reasons that power, heat or the hardware give. The others (clocks that somebody set, sync boost)
// hold clocks steady.
std::vector<std::string> forced_reasons(const record::DeviceState& state) {
  std::vector<std::string> reasons;
  for (const std::string& reason : state.throttle_reasons) {
    for (const char* word : {"power", "thermal", "hardware"}) {
      if (reason.find(word) == std::string::npos) continue;
      reasons.push_back(reason);
      break;
    }
  }
  return reasons;
}

std::string driver_warning(const std::vector<std::string>& before,
                           const std::vector<std::string>& after) {
  std::vector<std::string> parts;
  if (!before.empty()) parts.push_back(fmt::format("before the run: {}", fmt::join(before, ", ")));
  if (!after.empty()) parts.push_back(fmt::format("after it: {}", fmt::join(after, ", ")));
  return fmt::format("The driver held the clocks down {}.", fmt::join(parts, "; "));
}

}  // namespace

std::vector<std::string> why_findings(const record::Report& report) {
  const bool is_any_counted = std::ranges::any_of(
      report.measurements, [](const auto& m) { return m.counters && m.counters->kernels > 0; });
  std::vector<std::string> findings;
  for (const record::Measurement& m : report.measurements) {
    if (!m.counters || !is_any_counted) continue;
    const std::string said =
        m.counters->kernels > 0 ? text_of(*m.counters) : m.counters->unavailable;
    findings.push_back(
        fmt::format("{} at {} {}: {}.", m.variant, m.cell.tensor, cell_words(m.cell), said));
  }
  return findings;
}

std::vector<std::string> company_findings(const record::Report& report) {
  const auto measured = std::ranges::count_if(
      report.measurements, [](const record::Measurement& m) { return m.alone.has_value(); });
  if (measured == 0) return {};
  const std::vector<const record::Measurement*> found = dependent_ones(report);
  if (found.empty()) {
    return {
        fmt::format("Alone in a process of its own each takes as long or as many cycles, within "
                    "its interval or {:.0f} % ({} compared).",
                    100.0 * record::kSameAlone, measured)};
  }
  std::vector<std::string> findings;
  for (const record::Measurement* m : found) {
    if (findings.size() == kTimesNamed) {
      findings.push_back(
          fmt::format("And {} more times depend on their company.", found.size() - kTimesNamed));
      break;
    }
    findings.push_back(finding_of(*m));
  }
  return findings;
}

std::vector<std::string> throttling_warnings(const record::Report& report) {
  std::vector<std::string> warnings;
  const std::vector<const record::Measurement*> cells = throttled_cells(report);
  if (!cells.empty()) warnings.push_back(cell_warning(cells));
  const std::vector<std::string> before = forced_reasons(report.state_before);
  std::vector<std::string> after;
  if (report.state_after) after = forced_reasons(*report.state_after);
  if (!before.empty() || !after.empty()) warnings.push_back(driver_warning(before, after));
  return warnings;
}

std::vector<std::string> baseline_warnings(const record::Report& report) {
  std::vector<std::string> warnings;
  for (const record::MeasuredOperation& each : report.settings.operations) {
    std::string reason;
    bool is_measured = false;
    for (const record::Measurement& m : report.measurements) {
      if (m.cell.operation != each.name || m.variant != each.baseline) continue;
      if (m.status == record::Status::kSkipped) reason = m.reason;
      is_measured = is_measured || m.status != record::Status::kSkipped;
    }
    if (is_measured || reason.empty()) continue;
    warnings.push_back(fmt::format(
        "{} has no speedups, because its baseline {} was skipped: {}, or name another one by "
        "--baseline.",
        each.name, each.baseline, reason));
  }
  return warnings;
}

std::vector<std::string> sharing_warnings(const record::Report& report) {
  std::vector<std::string> parts;
  const auto add = [&](const record::DeviceState& state, const char* when) {
    const int others = state.other_processes.value_or(0);
    if (others > 0) parts.push_back(fmt::format("{} {}", others, when));
  };
  add(report.state_before, "before the run");
  if (report.state_after) add(*report.state_after, "after it");
  if (parts.empty()) return {};
  return {fmt::format(
      "Other processes were on this GPU ({}): if they computed, times are too long and clocks too "
      "low; nf4bench doctor --device {} names them; measure again without them.",
      fmt::join(parts, ", "), report.device.id)};
}

}  // namespace nf4bench::report
