#include "compare/history/history.hpp"

#include "base/text.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

namespace nf4bench::compare {
namespace {

// Letters, digits, dots and dashes are kept, anything else becomes one underscore a run.
std::string file_name_word(const std::string& text) {
  std::string word;
  for (const char c : text) {
    const bool is_kept = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                         (c >= 'a' && c <= 'z') || (!word.empty() && (c == '.' || c == '-'));
    if (is_kept) {
      word += c;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  while (!word.empty() && word.back() == '_') word.pop_back();
  return word.substr(0, 120);
}

void find_series_steps(HistorySeries& series, const StepModel& model) {
  std::vector<double> costs;
  for (const HistoryPoint& point : series.points) costs.push_back(point.log_cost);
  std::size_t level = 0;
  for (const LevelStep& step : find_steps(costs, model)) {
    series.steps.push_back({.point = step.index, .log_change = step.change});
    level = step.index;
  }
  series.last_log_change = costs.back() - statistics::median(std::span(costs).subspan(level));
}

bool is_unit_selected(const record::Report& report, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return matches_wildcard(pattern, report.device.uuid) ||
                  matches_wildcard(pattern, report.host.name);
         });
}

}  // namespace

std::string device_key(const record::Report& report) {
  const std::string unit =
      report.device.uuid.empty()
          ? fmt::format("{}-threads-{}", report.device.multiprocessors, report.host.name)
          : report.device.uuid;
  return file_name_word(report.device.name) + "-" + file_name_word(unit);
}

bool HistoryBuilder::Digest::is_same_run(const Digest& other) const {
  return std::equal(cells.begin(), cells.end(), other.cells.begin(), other.cells.end(),
                    [](const RunCell& a, const RunCell& b) {
                      return a.key == b.key && a.value.log_cost == b.value.log_cost;
                    });
}

void HistoryBuilder::add(const report::NamedReport& report) {
  const record::Report& r = report.report;
  if (!is_unit_selected(r, options_.units)) return;
  Digest digest;
  digest.run = {.name = report.name,
                .started_at = r.started_at,
                .git_commit = r.tool.git_commit,
                .complete = r.complete};
  digest.device = r.device.name;
  digest.id = device_key(r);
  digest.unit = r.device.uuid.empty() ? r.host.name : r.device.uuid;
  digest.kind = r.device.kind;
  for (RunCell& cell : run_cells(r, options_.metric)) {
    if (cell.state == CellState::kMeasured && is_selected(cell.key, options_.variants)) {
      digest.cells.push_back(std::move(cell));
    }
  }
  std::vector<std::size_t>& alike = places_[{digest.id, digest.run.started_at}];
  const bool is_known = std::ranges::any_of(
      alike, [&](std::size_t place) { return digests_[place].is_same_run(digest); });
  if (is_known) return;
  alike.push_back(digests_.size());
  digests_.push_back(std::move(digest));
}

HistoryDevice HistoryBuilder::device_history(const std::vector<const Digest*>& digests) const {
  HistoryDevice history;
  history.device = digests.front()->device;
  history.id = digests.front()->id;
  history.unit = digests.front()->unit;
  history.noise = measured_noise(digests.front()->kind, Spread::kOneDevice);
  if (options_.run_noise) history.noise = {*options_.run_noise, "as the command line says"};
  history.threshold = options_.threshold.value_or(kThresholdInNoise * history.noise.relative);
  std::map<CellKey, std::size_t> places;
  for (const Digest* digest : digests) {
    for (const RunCell& cell : digest->cells) {
      const auto [place, is_new] = places.try_emplace(cell.key, history.series.size());
      if (is_new) history.series.push_back({.key = cell.key, .points = {}, .steps = {}});
      const double cost = cell.value.log_cost;
      history.series[place->second].points.push_back(
          {.run = history.runs.size(),
           .value = std::exp(is_cost(options_.metric) ? cost : -cost),
           .log_cost = cost});
    }
    history.runs.push_back(digest->run);
  }
  const StepModel model = {.noise = history.noise.relative,
                           .threshold = std::log1p(history.threshold)};
  for (HistorySeries& series : history.series) find_series_steps(series, model);
  return history;
}

History HistoryBuilder::finish() const {
  std::vector<const Digest*> ordered;
  for (const Digest& digest : digests_) ordered.push_back(&digest);
  std::ranges::stable_sort(ordered, [](const Digest* a, const Digest* b) {
    return std::tie(a->run.started_at, a->run.name) < std::tie(b->run.started_at, b->run.name);
  });
  History history;
  history.metric = options_.metric;
  std::map<std::string, std::vector<const Digest*>> by_device;
  for (const Digest* digest : ordered) by_device[digest->id].push_back(digest);
  for (auto& [id, digests] : by_device) {
    const std::size_t older = digests.size() - std::min(digests.size(), kMostHistoryRuns);
    digests.erase(digests.begin(), digests.begin() + static_cast<std::ptrdiff_t>(older));
    history.devices.push_back(device_history(digests));
    history.devices.back().older_runs = older;
  }
  return history;
}

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
