#include "plan/plan.hpp"

#include "base/error.hpp"
#include "base/nearest_names.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nf4bench::plan {

namespace {

bool costs_the_same(const TensorSource& a, const TensorSource& b) {
  return a.geometry == b.geometry && a.dtype == b.dtype;
}

// How often `name` is selected: by the pattern that selects it most often.
std::size_t times_selected(const std::string& name, const std::vector<std::string>& patterns) {
  std::size_t most = 0;
  for (const std::string& pattern : patterns) {
    if (!matches_wildcard(pattern, name)) continue;
    const auto listed = std::ranges::count(patterns, pattern);
    most = std::max(most, static_cast<std::size_t>(listed));
  }
  return most;
}

void require_match(const std::string& pattern, const std::vector<std::string>& names) {
  const auto matches = [&](const std::string& name) { return matches_wildcard(pattern, name); };
  if (std::ranges::any_of(names, matches)) return;
  std::string word = pattern;
  std::erase_if(word, [](char c) { return c == '*' || c == '?'; });
  const std::vector<std::string> nearest = nearest_names(word, names);
  throw Error(ErrorKind::kUsage, "No variant of this device is named \"{}\"; {}: {}",
              escaped(pattern), nearest.empty() ? "there are" : "did you mean",
              fmt::join(nearest.empty() ? names : nearest, ", "));
}

}  // namespace

std::vector<PlannedTensor> plan_tensors(std::vector<TensorSource> sources, TensorChoice choice,
                                        std::size_t first_id) {
  std::vector<PlannedTensor> plan;
  for (TensorSource& source : sources) {
    const auto same = std::ranges::find_if(plan, [&](const PlannedTensor& planned) {
      return choice == TensorChoice::kOnePerGeometry && costs_the_same(planned.source, source);
    });
    if (same != plan.end()) {
      same->multiplicity += source.multiplicity;
      same->verify_also.push_back(std::move(source));
      continue;
    }
    const std::int64_t multiplicity = source.multiplicity;
    plan.push_back({.id = fmt::format("t{}", first_id + plan.size()),
                    .source = std::move(source),
                    .multiplicity = multiplicity,
                    .verify_also = {}});
  }
  return plan;
}

std::vector<SelectedVariant> select_variants(const std::vector<kernels::Variant>& available,
                                             const std::vector<std::string>& patterns) {
  std::vector<std::string> names;
  names.reserve(available.size());
  for (const kernels::Variant& variant : available) names.emplace_back(variant.name);
  for (const std::string& pattern : patterns) require_match(pattern, names);

  std::vector<SelectedVariant> selected;
  for (const kernels::Variant& variant : available) {
    const std::size_t times = patterns.empty() ? 1 : times_selected(variant.name, patterns);
    for (std::size_t i = 1; i <= times; ++i) {
      selected.push_back(
          {i == 1 ? std::string(variant.name) : fmt::format("{}#{}", variant.name, i), variant});
    }
  }
  return selected;
}

}  // namespace nf4bench::plan
