#include "compare/change.hpp"

#include "statistics/distributions.hpp"

#include <algorithm>
#include <cmath>

namespace nf4bench::compare {
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

}  // namespace nf4bench::compare
