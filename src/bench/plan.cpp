#include "bench/plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace nf4bench {

namespace {

constexpr std::size_t kMostSuggestions = 3;

bool has_same_geometry(const TensorSource& a, const TensorSource& b) {
  return a.shape == b.shape && a.blocksize == b.blocksize && a.absmax_kind == b.absmax_kind &&
         a.dtype == b.dtype;
}

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

// How far `name` is from what was typed; the word within the name, or the reverse, is near.
std::size_t distance(const std::string& word, const std::string& name) {
  const bool contains = word.size() >= 3 && (name.find(word) != std::string::npos ||
                                             word.find(name) != std::string::npos);
  return contains ? 1 : edit_distance(word, name);
}

// How often `name` is selected: by the pattern that selects it most often.
std::size_t times_selected(const std::string& name, const std::vector<std::string>& patterns) {
  std::size_t most = 0;
  for (const std::string& pattern : patterns) {
    if (!matches_wildcard(pattern, name)) continue;
    const auto listed = std::count(patterns.begin(), patterns.end(), pattern);
    most = std::max(most, static_cast<std::size_t>(listed));
  }
  return most;
}

void require_match(const std::string& pattern, const std::vector<std::string>& names) {
  const auto matches = [&](const std::string& name) { return matches_wildcard(pattern, name); };
  if (std::any_of(names.begin(), names.end(), matches)) return;
  std::string word = pattern;
  std::erase_if(word, [](char c) { return c == '*' || c == '?'; });
  const std::vector<std::string> nearest = nearest_names(word, names);
  throw Error(ErrorKind::kUsage,
              fmt::format("No variant of this device is named \"{}\"; {}: {}", escaped(pattern),
                          nearest.empty() ? "there are" : "did you mean",
                          fmt::join(nearest.empty() ? names : nearest, ", ")));
}

}  // namespace

std::vector<PlannedTensor> plan_tensors(std::vector<TensorSource> sources, TensorChoice choice) {
  std::vector<PlannedTensor> plan;
  for (TensorSource& source : sources) {
    const auto same = std::find_if(plan.begin(), plan.end(), [&](const PlannedTensor& planned) {
      return choice == TensorChoice::kOnePerGeometry && has_same_geometry(planned.source, source);
    });
    if (same != plan.end()) {
      same->multiplicity += source.multiplicity;
      same->verify_also.push_back(std::move(source));
      continue;
    }
    const std::int64_t multiplicity = source.multiplicity;
    plan.push_back({.id = fmt::format("t{}", plan.size()),
                    .source = std::move(source),
                    .multiplicity = multiplicity,
                    .verify_also = {}});
  }
  return plan;
}

std::vector<SelectedVariant> select_variants(const std::vector<Variant>& available,
                                             const std::vector<std::string>& patterns) {
  std::vector<std::string> names;
  names.reserve(available.size());
  for (const Variant& variant : available) names.emplace_back(variant.name);
  for (const std::string& pattern : patterns) require_match(pattern, names);

  std::vector<SelectedVariant> selected;
  for (const Variant& variant : available) {
    const std::size_t times = patterns.empty() ? 1 : times_selected(variant.name, patterns);
    for (std::size_t i = 1; i <= times; ++i) {
      selected.push_back(
          {i == 1 ? std::string(variant.name) : fmt::format("{}#{}", variant.name, i), variant});
    }
  }
  return selected;
}

std::vector<std::string> nearest_names(const std::string& word,
                                       const std::vector<std::string>& names) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  const std::size_t bound = std::max<std::size_t>(2, word.size() / 3);
  for (const std::string& name : names) {
    const std::size_t far = distance(word, name);
    // A word that shares no letter with a name is as far from it as the longer of both.
    if (far <= bound && far < std::max(word.size(), name.size())) ranked.emplace_back(far, name);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> nearest;
  for (auto& [far, name] : ranked) {
    if (nearest.size() < kMostSuggestions) nearest.push_back(std::move(name));
  }
  return nearest;
}

}  // namespace nf4bench
