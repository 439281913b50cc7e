#include "trying/ranking.hpp"

#include "nf4/tensor.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace nf4bench::trying {
namespace {

std::string words_of(const TriedCell& cell) {
  std::string words = fmt::format("{} {} {}", cell.operation, nf4::shape_to_string(cell.shape),
                                  to_string(cell.output_type));
  if (cell.tokens > 0) words += fmt::format(" x{}", cell.tokens);
  if (!cell.nested) words += " plain";
  if (cell.blocksize != 64) words += fmt::format(" blocks of {}", cell.blocksize);
  return cell.variant.empty() ? words : cell.variant + ' ' + words;
}

std::string cells_of(const Attempt& attempt) {
  std::string words;
  for (const TriedCell& cell : attempt.cells) {
    if (!words.empty()) words += ", ";
    words += words_of(cell);
  }
  return words;
}

Group& group_of(std::vector<Group>& groups, const Attempt& attempt) {
  const std::string cells = cells_of(attempt);
  const auto found = std::ranges::find_if(groups, [&](const Group& group) {
    return group.device == attempt.device && group.cells == cells;
  });
  if (found != groups.end()) return *found;
  return groups.emplace_back(Group{attempt.device, cells, {}});
}

void give_places(std::vector<Ranked>& ranked) {
  std::ranges::stable_sort(ranked, std::greater(),
                           [](const Ranked& each) { return each.speedup.ratio; });
  const auto ends = [](const Ranked& each) {
    return each.speedup.ci95.value_or(statistics::Interval{each.speedup.ratio, each.speedup.ratio});
  };
  for (Ranked& each : ranked) {
    each.worst = ranked.size();
    for (const Ranked& other : ranked) {
      if (ends(other).low > ends(each).high) ++each.best;
      if (ends(other).high < ends(each).low) --each.worst;
    }
  }
}

}  // namespace

std::optional<Overall> overall(const Attempt& attempt, std::optional<Against> TriedCell::*other) {
  if (attempt.cells.empty()) return std::nullopt;
  double sum = 0.0;
  double squares = 0.0;
  bool is_known = true;
  for (const TriedCell& cell : attempt.cells) {
    const std::optional<Against>& against = cell.*other;
    if (!against || !(against->ratio > 0.0)) return std::nullopt;
    sum += std::log(against->ratio);
    is_known = is_known && against->ci95 && against->ci95->low > 0.0;
    if (is_known) squares += std::pow(statistics::log_error(*against->ci95), 2);
  }
  const auto count = static_cast<double>(attempt.cells.size());
  Overall all = {.ratio = std::exp(sum / count)};
  if (!is_known) return all;
  const double reach = statistics::normal_quantile(0.975) * std::sqrt(squares) / count;
  all.ci95 = {all.ratio * std::exp(-reach), all.ratio * std::exp(reach)};
  return all;
}

std::vector<Group> rank(const std::vector<Attempt>& attempts, std::vector<const Attempt*>& failed) {
  std::vector<Group> groups;
  for (const Attempt& attempt : attempts) {
    const std::optional<Overall> speedup = overall(attempt, &TriedCell::baseline);
    if (attempt.status != Status::kOk || !speedup) {
      failed.push_back(&attempt);
      continue;
    }
    group_of(groups, attempt).ranked.push_back({.attempt = &attempt, .speedup = *speedup});
  }
  for (Group& group : groups) give_places(group.ranked);
  return groups;
}

}  // namespace nf4bench::trying
