#include "compare/compare_reports.hpp"

#include "compare/gate.hpp"
#include "compare/run_cells.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace nf4bench::compare {
namespace {

// One side of a cell: its runs, or why there is none.
struct PooledSide {
  CellState state = CellState::kAbsent;
  std::string reason;
  std::vector<RunValue> runs;
  std::string doubt;  // why all of the runs are in doubt; empty when one is not
};

struct PooledCell {
  CellKey key;
  PooledSide base;
  PooledSide fresh;
};

// A wrong row of any run makes the cell wrong; a run without the cell takes nothing from the
// others.
void add_run(PooledSide& side, const RunCell& cell, const std::string& source) {
  if (cell.state == CellState::kMeasured) {
    side.runs.push_back(cell.value);
    if (side.state != CellState::kWrong) side.state = CellState::kMeasured;
    return;
  }
  const bool is_first_news = side.state == CellState::kAbsent;
  if (cell.state != CellState::kWrong && !is_first_news) return;
  side.state = cell.state;
  side.reason = fmt::format("{} ({})", cell.reason, source);
}

// Leaves out the runs that are in doubt, unless there are no others.
void drop_doubtful_runs(PooledSide& side) {
  const auto is_doubtful = [](const RunValue& run) { return !run.doubt.empty(); };
  if (!side.runs.empty() && std::ranges::all_of(side.runs, is_doubtful)) {
    side.doubt = side.runs.front().doubt;
  } else {
    std::erase_if(side.runs, is_doubtful);
  }
}

class CellPool {
 public:
  explicit CellPool(const CompareOptions& options) : options_(options) {}

  void add(const std::vector<report::NamedReport>& reports, PooledSide PooledCell::*side) {
    for (const report::NamedReport& each : reports) {
      for (const RunCell& cell : run_cells(each.report, options_.metric)) {
        if (!is_selected(cell.key, options_.variants)) continue;
        const auto [place, is_new] = places_.try_emplace(cell.key, cells_.size());
        if (is_new) cells_.push_back({.key = cell.key, .base = {}, .fresh = {}});
        add_run(cells_[place->second].*side, cell, each.name);
      }
    }
  }

  // Cells of one geometry and launch stand together, in order of first appearance.
  std::vector<PooledCell> take() {
    std::vector<PooledCell> grouped;
    grouped.reserve(cells_.size());
    for (const std::vector<std::size_t>& block :
         blocks_of(cells_, [](const PooledCell& cell) -> const CellKey& { return cell.key; })) {
      for (const std::size_t i : block) {
        grouped.push_back(std::move(cells_[i]));
        drop_doubtful_runs(grouped.back().base);
        drop_doubtful_runs(grouped.back().fresh);
      }
    }
    return grouped;
  }

 private:
  const CompareOptions& options_;
  std::vector<PooledCell> cells_;
  std::map<CellKey, std::size_t> places_;
};

bool is_measured(const PooledSide& side) {
  return side.state == CellState::kMeasured;
}

std::optional<SideValue> side_value(const PooledSide& side, Metric metric) {
  if (!is_measured(side)) return std::nullopt;
  SideValue value;
  value.runs = static_cast<int>(side.runs.size());
  double log_cost = 0.0;
  for (const RunValue& run : side.runs) {
    log_cost += run.log_cost / value.runs;
    value.samples += run.samples;
  }
  value.value = std::exp(is_cost(metric) ? log_cost : -log_cost);
  return value;
}

// Why a cell that both sides measured is in doubt; empty when it is not.
std::string doubt_of(const PooledCell& cell) {
  std::vector<std::string> doubts;
  if (!cell.base.doubt.empty()) doubts.push_back("base: " + cell.base.doubt);
  if (!cell.fresh.doubt.empty()) doubts.push_back("new: " + cell.fresh.doubt);
  return fmt::format("{}", fmt::join(doubts, "; "));
}

bool have_intervals(const std::vector<RunValue>& runs) {
  return std::ranges::all_of(runs, &RunValue::has_interval);
}

// Rules on a cell that both sides measured. A busy machine excuses no slowdown of which the whole
// interval lies above the threshold: or a gate would pass on any machine that is busy.
Ruling rule_on_both(const PooledCell& cell, const Change& change, const RulingLimits& limits) {
  Ruling ruling = rule_on_change(change, cell.base.runs, cell.fresh.runs, limits);
  const std::string doubt = doubt_of(cell);
  if (doubt.empty()) return ruling;
  const bool is_slower = ruling.verdict == CellVerdict::kSlower &&
                         ratio_interval(change).low > 1.0 + limits.threshold &&
                         have_intervals(cell.base.runs) && have_intervals(cell.fresh.runs);
  return {is_slower ? CellVerdict::kSlower : CellVerdict::kUnsure, doubt};
}

// Rules on a cell that not both sides measured; none when neither has anything to say.
std::optional<Ruling> rule_on_gap(const PooledCell& cell) {
  if (cell.fresh.state == CellState::kWrong) {
    return Ruling{CellVerdict::kInvalid, cell.fresh.reason};
  }
  if (is_measured(cell.fresh)) {
    return Ruling{CellVerdict::kUnsure, "base " + cell.base.reason};
  }
  if (!is_measured(cell.base)) return std::nullopt;
  return Ruling{CellVerdict::kMissing, cell.fresh.state == CellState::kSkipped
                                           ? cell.fresh.reason
                                           : "the new side does not have it"};
}

// True when the base has nothing that the measured new side could be held against.
bool is_new_cell(const PooledCell& cell) {
  return is_measured(cell.fresh) &&
         (cell.base.state == CellState::kAbsent || cell.base.state == CellState::kSkipped);
}

std::vector<ReportLabel> labels_of(const std::vector<report::NamedReport>& reports) {
  std::vector<ReportLabel> labels;
  labels.reserve(reports.size());
  for (const report::NamedReport& each : reports) {
    labels.push_back({each.name, each.report.started_at, each.report.tool.git_commit});
  }
  return labels;
}

int count_measured(const std::vector<PooledCell>& pool) {
  return static_cast<int>(std::ranges::count_if(pool, [](const PooledCell& cell) {
    return is_measured(cell.base) && is_measured(cell.fresh);
  }));
}

void add_cell(ComparisonResult& result, const PooledCell& cell, int family) {
  if (is_new_cell(cell)) {
    result.new_cells.push_back(cell.key);
    return;
  }
  ComparedCell compared = {.key = cell.key,
                           .ruling = {},
                           .base = side_value(cell.base, result.metric),
                           .fresh = side_value(cell.fresh, result.metric),
                           .change = std::nullopt};
  if (is_measured(cell.base) && is_measured(cell.fresh)) {
    compared.change = estimate_change(cell.base.runs, cell.fresh.runs,
                                      {.run_noise = result.noise.relative, .cells = family});
    const RulingLimits limits = {.threshold = result.threshold,
                                 .heeds_clocks = result.metric != Metric::kSpeedup};
    compared.ruling = rule_on_both(cell, *compared.change, limits);
  } else {
    const std::optional<Ruling> ruling = rule_on_gap(cell);
    if (!ruling) return;
    compared.ruling = *ruling;
  }
  result.cells.push_back(std::move(compared));
}

void add_cells(ComparisonResult& result, const std::vector<PooledCell>& pool) {
  const int family = count_measured(pool);
  std::vector<double> changes;
  for (const PooledCell& cell : pool) add_cell(result, cell, family);
  for (const ComparedCell& cell : result.cells) {
    if (cell.change) changes.push_back(cell.change->log_ratio);
  }
  if (!changes.empty()) result.median_log_change = statistics::median(changes);
}

}  // namespace

std::int64_t ComparisonResult::count(CellVerdict verdict) const {
  return std::ranges::count_if(
      cells, [&](const ComparedCell& cell) { return cell.ruling.verdict == verdict; });
}

std::int64_t ComparisonResult::measured() const {
  return std::ranges::count_if(cells,
                               [](const ComparedCell& cell) { return cell.change.has_value(); });
}

ComparisonResult compare_reports(const std::vector<report::NamedReport>& base,
                                 const std::vector<report::NamedReport>& fresh,
                                 const CompareOptions& options) {
  ComparisonResult result;
  result.metric = options.metric;
  result.device = fresh.front().report.device.name;
  result.base = labels_of(base);
  result.fresh = labels_of(fresh);
  result.differences = find_differences(base, fresh, options.metric, options.allowed);
  result.is_comparable = is_comparable(result.differences);
  result.noise = measured_noise(fresh.front().report.device.kind, spread_of(result.differences));
  if (options.run_noise) result.noise = {*options.run_noise, "as the command line says"};
  result.threshold = options.threshold.value_or(kThresholdInNoise * result.noise.relative);
  result.faults = find_report_faults(base, fresh);
  if (!result.is_comparable) return result;
  CellPool pool(options);
  pool.add(base, &PooledCell::base);
  pool.add(fresh, &PooledCell::fresh);
  add_cells(result, pool.take());
  return result;
}

namespace {

std::map<CellKey, RunValue> measured_cells(const record::Report& report) {
  std::map<CellKey, RunValue> cells;
  for (const RunCell& cell : run_cells(report, Metric::kTime)) {
    if (cell.state == CellState::kMeasured) cells.emplace(cell.key, cell.value);
  }
  return cells;
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

TimeRatios time_ratios(const record::Report& base, const record::Report& fresh) {
  const std::map<CellKey, RunValue> before = measured_cells(base);
  std::vector<double> times;
  std::vector<double> clocks;
  for (const auto& [key, value] : measured_cells(fresh)) {
    const auto other = before.find(key);
    if (other == before.end()) continue;
    times.push_back(value.log_cost - other->second.log_cost);
    if (value.clock_hz && other->second.clock_hz) {
      clocks.push_back(std::log(*value.clock_hz / *other->second.clock_hz));
    }
  }
  TimeRatios ratios;
  if (times.empty()) return ratios;
  ratios.cells = static_cast<std::int64_t>(times.size());
  ratios.mean = std::exp(mean(times));
  ratios.lowest = std::exp(*std::ranges::min_element(times));
  ratios.highest = std::exp(*std::ranges::max_element(times));
  if (!clocks.empty()) ratios.clock = std::exp(mean(clocks));
  return ratios;
}

}  // namespace nf4bench::compare
