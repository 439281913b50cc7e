#include "compare/history/steps.hpp"

#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <vector>

namespace nf4bench::compare {
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
  return std::max(least, statistics::median(differences) / kMedianDifference);
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

using Values = std::span<const double>;

// The values of each level, the first of which begins at 0.
std::vector<Values> levels_of(Values values, const std::vector<std::size_t>& starts) {
  std::vector<Values> levels;
  for (std::size_t i = 0; i <= starts.size(); ++i) {
    const std::size_t first = i == 0 ? 0 : starts[i - 1];
    const std::size_t last = i < starts.size() ? starts[i] : values.size();
    levels.push_back(values.subspan(first, last - first));
  }
  return levels;
}

std::vector<LevelStep> steps_between(Values values, const std::vector<std::size_t>& starts) {
  const std::vector<Values> levels = levels_of(values, starts);
  std::vector<LevelStep> steps;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    steps.push_back({starts[i], statistics::median(levels[i + 1]) - statistics::median(levels[i])});
  }
  return steps;
}

// True when enough values of `level` are nearer to its median than to that of `other`: two wild
// values and a good one make no level.
bool is_supported(Values level, Values other) {
  const double own = statistics::median(level);
  const double others = statistics::median(other);
  return std::ranges::count_if(level, [&](double value) {
           return std::abs(value - own) < std::abs(value - others);
         }) >= static_cast<std::ptrdiff_t>(kShortestLevel);
}

// The step to be merged away first; none when all are worth telling.
std::optional<std::size_t> find_idle_step(Values values, const std::vector<std::size_t>& starts,
                                          double threshold) {
  const std::vector<Values> levels = levels_of(values, starts);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (!is_supported(levels[i], levels[i + 1]) || !is_supported(levels[i + 1], levels[i])) {
      return i;
    }
  }
  std::optional<std::size_t> smallest;
  double least = threshold;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const double size = std::abs(statistics::median(levels[i + 1]) - statistics::median(levels[i]));
    if (size >= least) continue;
    least = size;
    smallest = i;
  }
  return smallest;
}

}  // namespace

std::vector<LevelStep> find_steps(std::span<const double> values, const StepModel& model) {
  if (values.size() < 2 * kShortestLevel) return {};
  std::vector<std::size_t> starts = cheapest_split(values, estimate_noise(values, model.noise));
  while (const auto idle = find_idle_step(values, starts, model.threshold)) {
    starts.erase(starts.begin() + static_cast<std::ptrdiff_t>(*idle));
  }
  return steps_between(values, starts);
}

}  // namespace nf4bench::compare
