#include "cli/commands/run/dry_run.hpp"

#include "base/text.hpp"
#include "bench/estimate.hpp"
#include "text/text_grid.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// The names of enumerated values, separated by commas.
template <class Value>
std::string words(const std::vector<Value>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const Value value : values) names.emplace_back(to_string(value));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string variant_names(const RunPlan& plan) {
  std::vector<std::string> names;
  for (const plan::SelectedVariant& each : plan.variants) {
    names.push_back(each.name + (each.name == plan.options.baseline ? " (baseline)" : ""));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Rows tensor_rows(const RunPlan& plan) {
  Rows rows = {{"id", "shape", "absmax", "types", "times", "memory", "tensor"}};
  for (const plan::PlannedTensor& planned : plan.tensors) {
    const plan::TensorSource& source = planned.source;
    const record::Geometry& geometry = source.geometry;
    std::vector<nf4::OutputType> types = plan.options.output_types;
    if (types.empty()) types = {source.dtype};
    rows.push_back({planned.id, nf4::shape_to_string(geometry.shape),
                    fmt::format("{}/{}", to_string(geometry.absmax_kind), geometry.blocksize),
                    words(types), fmt::format("{}", planned.multiplicity),
                    text::format_size(bench::buffer_bytes(plan.request(), source)),
                    escaped(source.name, 80)});
  }
  return rows;
}

Rows fact_rows(const RunPlan& plan, const bench::RunEstimate& estimate) {
  const record::DeviceInfo& device = plan.device->info();
  const record::Settings& options = plan.options;
  Rows rows = {{"device", fmt::format("{}: {}", device.id, device.name)},
               {"variants", variant_names(plan)},
               {"caches", words(options.caches)},
               {"launches", words(options.launches)}};
  rows.push_back(
      {"samples", fmt::format("{} or more, until the median is known to {}, for {} s a "
                              "measurement at most",
                              options.min_samples, options.precision, options.max_time_s)});
  rows.push_back({"measurements", fmt::format("{}", estimate.measurements)});
  if (estimate.not_measured > 0) {
    rows.push_back({"without a time", fmt::format("{} of these", estimate.not_measured)});
    for (const std::string& line : estimate.exclusions) rows.push_back({"", escaped(line)});
  }
  rows.push_back(
      {"comparisons",
       fmt::format("{} outputs of each variant with the reference{}", estimate.verifications,
                   options.verify == record::VerifyScope::kSampled ? ", the first 16 Mi elements"
                                                                   : ", every element")});
  if (device.kind == record::DeviceKind::kCuda) {
    rows.push_back({"device memory", text::format_size(estimate.device_bytes) + " at most"});
  }
  rows.push_back({"host memory", text::format_size(estimate.host_bytes) + " at most"});
  rows.push_back(
      {"time", fmt::format("{} at least, about {} at most", text::format_duration(estimate.least_s),
                           text::format_duration(estimate.most_s))});
  return rows;
}

}  // namespace

std::string describe(const RunPlan& plan) {
  const bench::RunEstimate estimate = bench::estimate_run(plan.request());
  return text::align_columns(tensor_rows(plan), 0) + "\n" +
         text::align_columns(fact_rows(plan, estimate), 0) +
         "\nNothing was measured and no report was written: --dry-run.\n";
}

}  // namespace nf4bench::cli
