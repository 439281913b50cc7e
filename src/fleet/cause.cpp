#include "fleet/analysis.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace nf4bench::fleet {
namespace {

constexpr double kLowClock = 0.01;  // below that of the fleet, as a fraction
constexpr double kAtLimit = 0.97;   // of the power limit
constexpr double kHotter_c = 10.0;  // than the median of the fleet
constexpr double kExplains = 0.5;   // share of the deviation

bool has_reason(const Unit& unit, std::string_view word) {
  return std::ranges::any_of(unit.throttle_reasons, [&](const std::string& reason) {
    return reason.find(word) != std::string::npos;
  });
}

bool draws_its_limit(const Unit& unit) {
  return unit.power_w && unit.power_limit_w && *unit.power_w >= kAtLimit * *unit.power_limit_w;
}

bool is_hotter(const Group& group, const Unit& unit) {
  std::vector<double> temperatures;
  for (const Unit& each : group.units) {
    if (each.temperature_c) temperatures.push_back(*each.temperature_c);
  }
  return unit.temperature_c && *unit.temperature_c >= statistics::median(temperatures) + kHotter_c;
}

// The driver's own reason comes first: a GPU that works is warmer than those that wait.
std::string cause_of_low_clock(const Group& group, const Unit& unit) {
  if (has_reason(unit, "thermal")) return "heat";
  if (has_reason(unit, "power")) return "power cap";
  if (is_hotter(group, unit)) return "heat";
  return draws_its_limit(unit) ? "power cap" : "low clock";
}

bool has_others(const Unit& unit) {
  return unit.other_processes.value_or(0) > 0;
}

// Where half of the units share their GPUs, as desktops do, that makes none of them slow.
bool shares_as_few_do(const Group& group, const Unit& unit) {
  const auto sharing = std::ranges::count_if(group.units, has_others);
  return has_others(unit) && 2 * static_cast<std::size_t>(sharing) < group.units.size();
}

// Whether the clock is low, and that is a good part of the reason.
bool has_low_clock(const UnitSummary& summary) {
  const double lack = -summary.clock_deviation.value_or(0.0);
  const double slowest = std::max(summary.deviation, summary.other_deviation.value_or(0.0));
  return lack > kLowClock && lack > kExplains * slowest;
}

bool is_memory_alone(const UnitSummary& summary, double threshold) {
  return summary.memory_deviation && summary.other_deviation &&
         *summary.memory_deviation > std::log1p(threshold) &&
         *summary.other_deviation < kExplains * *summary.memory_deviation;
}

}  // namespace

std::string likely_cause(const Group& group, const UnitSummary& summary, double threshold) {
  const Unit& unit = group.units[summary.unit];
  if (shares_as_few_do(group, unit)) return "another process";
  if (has_low_clock(summary)) return cause_of_low_clock(group, unit);
  return is_memory_alone(summary, threshold) ? "memory only" : "unknown";
}

}  // namespace nf4bench::fleet
