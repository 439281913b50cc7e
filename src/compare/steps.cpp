#include "compare/steps.hpp"

#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

namespace nf4bench {
namespace {

// The price of a level in standard deviations of one value, times log(n). With it noise alone
// makes a step in fewer than one of a hundred series, see docs/method.md.
constexpr double kPricePerLevel = 3.0;

// A median absolute difference of neighbours over the standard deviation, for normal noise.
constexpr double kMedianDifference = 0.6744898 * 1.4142136;

// Keeps the sum of absolute deviations from the median of a growing set.
class DeviationSum {
 public:
  void add(double value) {
    if (lower_.empty() || value <= lower_.top()) {
      lower_.push(value);
      lower_sum_ += value;
    } else {
      upper_.push(value);
      upper_sum_ += value;
    }
    balance();
  }

  double value() const {
    const double median = lower_.top();
    return median * static_cast<double>(lower_.size()) - lower_sum_ + upper_sum_ -
           median * static_cast<double>(upper_.size());
  }

 private:
  // The lower half holds as many values as the upper one, or one more.
  void balance() {
    if (lower_.size() > upper_.size() + 1) {
      const double moved = lower_.top();
      lower_.pop();
      upper_.push(moved);
      lower_sum_ -= moved;
      upper_sum_ += moved;
    } else if (upper_.size() > lower_.size()) {
      const double moved = upper_.top();
      upper_.pop();
      lower_.push(moved);
      upper_sum_ -= moved;
      lower_sum_ += moved;
    }
  }

  std::priority_queue<double> lower_;
  std::priority_queue<double, std::vector<double>, std::greater<>> upper_;
  double lower_sum_ = 0.0;
  double upper_sum_ = 0.0;
};

double estimate_noise(std::span<const double> values, double least) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < values.size(); ++i) {
    differences.push_back(std::abs(values[i] - values[i - 1]));
  }
  return std::max(least, median(differences) / kMedianDifference);
}

// Where the levels of the cheapest split begin, without the first.
std::vector<std::size_t> cheapest_split(std::span<const double> values, double noise) {
  const std::size_t n = values.size();
  const double price = kPricePerLevel * noise * std::log(static_cast<double>(n));
  // cost[i]: of the cheapest split of the values from i on; next[i]: where its first level ends.
  std::vector<double> cost(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> next(n + 1, n);
  cost[n] = 0.0;
  for (std::size_t first = n; first-- > 0;) {
    DeviationSum deviations;
    for (std::size_t last = first; last < n; ++last) {
      deviations.add(values[last]);
      if (last + 1 - first < kShortestLevel) continue;
      const double total = deviations.value() + price + cost[last + 1];
      if (total < cost[first]) {
        cost[first] = total;
        next[first] = last + 1;
      }
    }
  }
  std::vector<std::size_t> starts;
  for (std::size_t i = next[0]; i < n; i = next[i]) starts.push_back(i);
  return starts;
}

// The steps between the levels that begin at 0 and at `starts`.
std::vector<LevelStep> steps_between(std::span<const double> values,
                                     const std::vector<std::size_t>& starts) {
  std::vector<LevelStep> steps;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t before = i == 0 ? 0 : starts[i - 1];
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : values.size();
    steps.push_back({starts[i], median(values.subspan(starts[i], end - starts[i])) -
                                    median(values.subspan(before, starts[i] - before))});
  }
  return steps;
}

}  // namespace

std::vector<LevelStep> find_steps(std::span<const double> values, const StepModel& model) {
  if (values.size() < 2 * kShortestLevel) return {};
  std::vector<std::size_t> starts = cheapest_split(values, estimate_noise(values, model.noise));
  while (true) {
    std::vector<LevelStep> steps = steps_between(values, starts);
    const auto smallest =
        std::min_element(steps.begin(), steps.end(), [](const LevelStep& a, const LevelStep& b) {
          return std::abs(a.change) < std::abs(b.change);
        });
    if (smallest == steps.end() || std::abs(smallest->change) >= model.threshold) return steps;
    starts.erase(starts.begin() + (smallest - steps.begin()));
  }
}

}  // namespace nf4bench
