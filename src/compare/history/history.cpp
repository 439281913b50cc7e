#include "compare/history/history.hpp"

#include "base/text.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>

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

}  // namespace nf4bench::compare
