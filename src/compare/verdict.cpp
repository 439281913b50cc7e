#include "compare/verdict.hpp"

#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace nf4bench::compare {
namespace {

// A cell is SAME only if a change of this many thresholds would have been seen.
constexpr double kBlindLimit = 2.0;

std::string percent(double log_ratio) {
  return fmt::format("{:+.1f} %", 100.0 * std::expm1(log_ratio));
}

std::string unsigned_percent(double log_width) {
  return fmt::format("{:.1f} %", 100.0 * std::expm1(log_width));
}

// The smallest difference between two calls that the timers of both sides can see.
double resolution_of(std::span<const RunValue> base, std::span<const RunValue> fresh) {
  double resolution_s = 0.0;
  for (const RunValue& run : base) resolution_s = std::max(resolution_s, run.resolution_s);
  for (const RunValue& run : fresh) resolution_s = std::max(resolution_s, run.resolution_s);
  return resolution_s;
}

double median_time(std::span<const RunValue> runs) {
  std::vector<double> times;
  for (const RunValue& run : runs) times.push_back(run.time_s);
  return statistics::median(times);
}

// The median over the runs of a side; none when a run knows no clock.
std::optional<double> median_clock(std::span<const RunValue> runs) {
  std::vector<double> clocks;
  for (const RunValue& run : runs) {
    if (!run.clock_hz) return std::nullopt;
    clocks.push_back(*run.clock_hz);
  }
  return statistics::median(clocks);
}

// How the clock changed, as a logarithm; 0 when it is not known.
double log_clock_change(std::span<const RunValue> base, std::span<const RunValue> fresh) {
  const std::optional<double> before = median_clock(base);
  const std::optional<double> after = median_clock(fresh);
  return before && after ? std::log(*after / *before) : 0.0;
}

}  // namespace

const char* to_string(CellVerdict verdict) {
  switch (verdict) {
    case CellVerdict::kInvalid:
      return "INVALID";
    case CellVerdict::kMissing:
      return "MISSING";
    case CellVerdict::kSlower:
      return "SLOWER";
    case CellVerdict::kUnsure:
      return "UNSURE";
    case CellVerdict::kFaster:
      return "FASTER";
    case CellVerdict::kSame:
      return "SAME";
  }
  return "";
}

Ruling rule_on_change(const Change& change, std::span<const RunValue> base,
                      std::span<const RunValue> fresh, const RulingLimits& limits) {
  const double threshold = std::log1p(limits.threshold);
  const double reach = std::max(threshold, change.half_width);
  const double size = std::abs(change.log_ratio);
  const double sign = change.log_ratio < 0.0 ? -1.0 : 1.0;
  const double resolution = resolution_of(base, fresh) / median_time(base);
  if (size < resolution && (size > reach || change.half_width <= resolution)) {
    return {CellVerdict::kSame, "the difference is less than the timer resolves"};
  }
  if (size > reach) {
    // What is left when both sides are counted in clock cycles instead of seconds.
    const double clock = limits.heeds_clocks ? log_clock_change(base, fresh) : 0.0;
    if (sign * (change.log_ratio + clock) <= reach) {
      return {CellVerdict::kUnsure,
              fmt::format("the SM clock changed by {}, which explains it", percent(clock))};
    }
    return {sign > 0.0 ? CellVerdict::kSlower : CellVerdict::kFaster, ""};
  }
  const char* cause = change.runs_agree ? "noise" : "scatter between runs of one side";
  if (size > threshold) {
    return {CellVerdict::kUnsure, fmt::format("beyond the threshold, but within the {} of {}",
                                              cause, unsigned_percent(change.half_width))};
  }
  if (change.half_width > kBlindLimit * threshold) {
    return {CellVerdict::kUnsure, fmt::format("a {} of {} hides what may have changed", cause,
                                              unsigned_percent(change.half_width))};
  }
  return {CellVerdict::kSame, ""};
}

}  // namespace nf4bench::compare
