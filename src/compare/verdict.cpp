#include "compare/verdict.hpp"

#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace nf4bench::compare {

RunNoise measured_noise(record::DeviceKind kind, Spread spread) {
  if (kind == record::DeviceKind::kCpu) {
    return {.relative = 0.05, .origin = "a CPU with nothing else to do; a busy one needs more"};
  }
  if (spread == Spread::kSeveralDevices) {
    return {.relative = 0.01, .origin = "cold graph medians on several H200"};
  }
  return {.relative = 0.005, .origin = "cold graph medians on one H200"};
}

namespace {

// run_noise is that of runs whose medians have reached the default precision of "nf4bench run", a
// relative half-width of 0.5 %: this much of it is the samples' own.
constexpr double kErrorInNoise = 0.005 / 1.959964;

// How sure it must be that runs scatter more than run_noise before their own scatter counts. Rare,
// because a scatter known from two or three runs makes an interval too wide to be of use.
constexpr double kScatterConfidence = 0.995;

// Degrees of freedom that run_noise is worth beside the scatter of the runs.
constexpr int kNoiseFreedom = 4;

struct Side {
  double mean = 0.0;
  double variance = 0.0;     // of the mean, by the model
  double mean_square = 0.0;  // of a run, by the model
  double deviation_squares = 0.0;
  int runs = 0;
};

Side summarize_side(std::span<const RunValue> runs, double run_noise) {
  Side side;
  side.runs = static_cast<int>(runs.size());
  for (const RunValue& run : runs) {
    const double excess =
        std::max(0.0, run.log_error * run.log_error - kErrorInNoise * kErrorInNoise);
    side.mean += run.log_cost / side.runs;
    side.mean_square += (run_noise * run_noise + excess) / side.runs;
  }
  side.variance = side.mean_square / side.runs;
  for (const RunValue& run : runs) {
    side.deviation_squares += (run.log_cost - side.mean) * (run.log_cost - side.mean);
  }
  return side;
}

}  // namespace

Change estimate_change(std::span<const RunValue> base, std::span<const RunValue> fresh,
                       const ChangeModel& model) {
  const Side a = summarize_side(base, model.run_noise);
  const Side b = summarize_side(fresh, model.run_noise);
  const double probability = 1.0 - kFamilyError / 2.0 / std::max(model.cells, 1);
  Change change;
  change.log_ratio = b.mean - a.mean;
  change.half_width = statistics::normal_quantile(probability) * std::sqrt(a.variance + b.variance);

  const int freedom = a.runs + b.runs - 2;
  if (freedom == 0) return change;
  const double squares = a.deviation_squares + b.deviation_squares;
  const double modelled = std::max(a.mean_square, b.mean_square);
  if (squares <= modelled * statistics::chi_squared_quantile(kScatterConfidence, freedom))
    return change;
  change.runs_agree = false;
  const double scatter = std::sqrt(squares / freedom * (1.0 / a.runs + 1.0 / b.runs));
  change.half_width =
      std::max(change.half_width,
               statistics::student_quantile(probability, freedom + kNoiseFreedom) * scatter);
  return change;
}

statistics::Interval ratio_interval(const Change& change) {
  return {std::exp(change.log_ratio - change.half_width),
          std::exp(change.log_ratio + change.half_width)};
}

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
