#include "compare/ratios.hpp"

#include "compare/run_cells.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace nf4bench::compare {
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
