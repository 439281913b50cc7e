#include "report/ranking.hpp"
#include "report/report.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace nf4bench::report {
namespace {

// The measurements of one cell over all tensors, by variant, all in order of appearance.
struct Group {
  record::Cell cell;  // without a tensor
  std::set<std::string> tensors;
  std::vector<std::pair<std::string, std::vector<const record::Measurement*>>> variants;
};

std::vector<Group> group_measurements(const record::Report& report) {
  std::vector<Group> groups;
  std::map<record::Cell, std::size_t> places;
  std::map<std::pair<std::size_t, std::string_view>, std::size_t> variants;  // of each group
  for (const record::Measurement& m : report.measurements) {
    const record::Cell cell = m.cell.over_all_tensors();
    const auto [place, is_new_group] = places.try_emplace(cell, groups.size());
    if (is_new_group) groups.push_back({cell, {}, {}});
    Group& group = groups[place->second];
    group.tensors.insert(m.cell.tensor);
    const auto [variant, is_new] =
        variants.try_emplace({place->second, m.variant}, group.variants.size());
    if (is_new) group.variants.push_back({m.variant, {}});
    group.variants[variant->second].second.push_back(&m);
  }
  // A model has all tensors that were multiplied with any number of tokens.
  std::map<record::Cell, std::set<std::string>> tensors;
  for (const Group& group : groups) {
    tensors[group.cell.over_all_tokens()].insert(group.tensors.begin(), group.tensors.end());
  }
  for (Group& group : groups) group.tensors = tensors[group.cell.over_all_tokens()];
  return groups;
}

std::optional<double> time_of(const record::Measurement& row) {
  return row.time_s ? std::optional(row.time_s->median) : std::nullopt;
}

std::optional<double> energy_j_of(const record::Measurement& row) {
  return row.energy ? row.energy->joules : std::nullopt;
}

// What all tensors of the group take, each as often as it occurs; empty unless `rows` passed on
// every one of them and `cost_of` knows what each takes.
template <typename Function>
std::optional<double> model_cost(const std::vector<const record::Measurement*>& rows,
                                 const Group& group,
                                 const std::map<std::string, std::int64_t>& multiplicity,
                                 Function&& cost_of) {
  std::set<std::string> passed;
  double total = 0.0;
  for (const record::Measurement* row : rows) {
    const auto count = multiplicity.find(row->cell.tensor);
    const std::optional<double> cost =
        row->status == record::Status::kPassed ? cost_of(*row) : std::nullopt;
    if (!cost || count == multiplicity.end() || !passed.insert(row->cell.tensor).second) continue;
    total += *cost * static_cast<double>(count->second);
  }
  return passed == group.tensors ? std::optional(total) : std::nullopt;
}

record::VariantSummary summarize_rows(const std::string& variant, const record::Cell& cell,
                                      const std::vector<const record::Measurement*>& rows) {
  record::VariantSummary summary;
  summary.cell = cell;
  summary.variant = variant;
  std::vector<double> ratios;
  for (const record::Measurement* row : rows) {
    summary.reference_line = row->reference_line;
    if (row->status != record::Status::kPassed) continue;
    ++summary.cells;
    summary.in_doubt = summary.in_doubt || !doubt_of(*row).empty();
    if (row->speedup && row->speedup->ratio > 0.0) ratios.push_back(row->speedup->ratio);
  }
  if (!ratios.empty()) {
    summary.speedup_geomean = statistics::geometric_mean(ratios);
    summary.speedup_min = *std::ranges::min_element(ratios);
    summary.speedup_max = *std::ranges::max_element(ratios);
  }
  return summary;
}

// The tokens that a model decodes in a second when it does nothing else.
std::optional<double> token_rate(const record::VariantSummary& summary) {
  if (summary.cell.tokens == 0 || summary.model_time_s.value_or(0.0) <= 0.0) return std::nullopt;
  return static_cast<double>(summary.cell.tokens) / *summary.model_time_s;
}

}  // namespace

std::vector<record::VariantSummary> summarize_variants(const record::Report& report) {
  std::map<std::string, std::int64_t> multiplicity;
  for (const record::ReportTensor& tensor : report.tensors)
    multiplicity[tensor.id] = tensor.multiplicity;

  std::vector<record::VariantSummary> all;
  for (const Group& group : group_measurements(report)) {
    const std::size_t first = all.size();
    const std::string& baseline = record::baseline_of(report.settings, group.cell.operation);
    std::optional<double> baseline_time;
    for (const auto& [variant, rows] : group.variants) {
      record::VariantSummary summary = summarize_rows(variant, group.cell, rows);
      // The tensors still to come are unknown to an unfinished report: it has no total.
      if (report.complete) {
        summary.model_time_s = model_cost(rows, group, multiplicity, time_of);
        summary.model_energy_j = model_cost(rows, group, multiplicity, energy_j_of);
      }
      summary.tokens_per_s = token_rate(summary);
      if (variant == baseline) baseline_time = summary.model_time_s;
      all.push_back(std::move(summary));
    }
    for (std::size_t i = first; i < all.size(); ++i) {
      const std::optional<double> time = all[i].model_time_s;
      if (baseline_time && time && *time > 0.0) all[i].model_speedup = *baseline_time / *time;
    }
  }
  return all;
}

}  // namespace nf4bench::report
