#include "base/nearest_names.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace nf4bench {
namespace {

constexpr std::size_t kMostSuggestions = 3;

// Levenshtein distance.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// How far `name` is from the typed word. It is near when one contains the other.
std::size_t distance(const std::string& word, const std::string& name) {
  const bool contains = word.size() >= 3 && (name.find(word) != std::string::npos ||
                                             word.find(name) != std::string::npos);
  return contains ? 1 : edit_distance(word, name);
}

}  // namespace

std::vector<std::string> nearest_names(const std::string& word,
                                       const std::vector<std::string>& names) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  const std::size_t bound = std::max<std::size_t>(2, word.size() / 3);
  for (const std::string& name : names) {
    const std::size_t far = distance(word, name);
    // A word without a common letter is as far from a name as the longer of the two is long.
    if (far <= bound && far < std::max(word.size(), name.size())) ranked.emplace_back(far, name);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& each) { return each.first; });
  if (ranked.size() == names.size() && !ranked.empty()) {  // else all would be suggested
    const std::size_t least = ranked.front().first;
    std::erase_if(ranked, [least](const auto& each) { return each.first > least; });
  }
  std::vector<std::string> nearest;
  for (auto& [far, name] : ranked) {
    if (nearest.size() < kMostSuggestions) nearest.push_back(std::move(name));
  }
  return nearest;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string> nearest = nearest_names(word, names);
  const bool are_all = nearest.size() == names.size() && names.size() > 1;  // says nothing
  if (nearest.empty() || are_all) return "";
  return fmt::format(" Did you mean {}?", fmt::join(nearest, ", "));
}

Error not_one_of(const std::string& option, const std::string& word,
                 const std::vector<std::string>& allowed) {
  return {ErrorKind::kUsage, "{}: \"{}\" is not one of {}.{}", option,
          escaped(word),     fmt::join(allowed, ", "),         did_you_mean(word, allowed)};
}

}  // namespace nf4bench
