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

std::string variant_names(const OperationPlan& plan) {
  std::vector<std::string> names;
  for (const plan::SelectedVariant& each : plan.variants) {
    names.push_back(each.name + (each.name == plan.settings.baseline ? " (baseline)" : ""));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> tensor_row(const plan::PlannedTensor& planned,
                                    const bench::RunRequest& request) {
  const plan::TensorSource& source = planned.source;
  const record::Geometry& geometry = source.geometry;
  std::vector<nf4::OutputType> types = request.settings.output_types;
  if (types.empty()) types = {source.dtype};
  return {planned.id,
          nf4::shape_to_string(geometry.shape),
          fmt::format("{}/{}", to_string(geometry.absmax_kind), geometry.blocksize),
          words(types),
          fmt::format("{}", planned.multiplicity),
          text::format_size(bench::buffer_bytes(request, source)),
          escaped(source.name, 80)};
}

// A tensor for each operation, because they take different memory.
Rows tensor_rows(const RunPlan& plan) {
  Rows rows = {{"id", "shape", "absmax", "types", "times", "memory", "tensor"}};
  for (const OperationPlan& operation : plan.operations) {
    for (const plan::PlannedTensor& planned : operation.tensors) {
      rows.push_back(tensor_row(planned, operation.request(*plan.device)));
    }
  }
  return rows;
}

std::string tokens_text(const record::Settings& options) {
  return fmt::format("{} ({}{})", fmt::join(options.tokens, ", "),
                     options.activations == record::Activations::kFile
                         ? escaped(options.activations_file, 80)
                         : to_string(options.activations),
                     options.cold_activations ? ", cold" : "");
}

// What is computed, and by which variants.
void add_operations(Rows& rows, const RunPlan& plan) {
  std::vector<std::string> names;
  bool has_tokens = false;
  for (const OperationPlan& each : plan.operations) {
    names.push_back(each.operation.name);
    has_tokens = has_tokens || each.operation.make_input;
  }
  rows.push_back(
      {names.size() == 1 ? "operation" : "operations", fmt::format("{}", fmt::join(names, ", "))});
  if (has_tokens) rows.push_back({"tokens", tokens_text(plan.options)});
  if (has_tokens && plan.crossover) {
    rows.push_back({"", "and more, not counted below, where the fastest variant changes"});
  }
  for (const OperationPlan& each : plan.operations) {
    const bool is_first = &each == &plan.operations.front();
    const std::string whose = names.size() == 1 ? "" : each.operation.name + ": ";
    rows.push_back({is_first ? "variants" : "", whose + variant_names(each)});
  }
}

Rows fact_rows(const RunPlan& plan, const bench::RunEstimate& estimate) {
  const record::DeviceInfo& device = plan.device->info();
  const record::Settings& options = plan.options;
  Rows rows = {{"device", fmt::format("{}: {}", device.id, device.name)}};
  if (plan.shard) {
    rows.push_back({"task", record::shard_text(plan.shard->index, plan.shard->count)});
  }
  add_operations(rows, plan);
  rows.push_back({"caches", words(options.caches)});
  rows.push_back({"launches", words(options.launches)});
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
                   options.verify == record::VerifyScope::kSampled
                       ? ", the first 16 Mi elements or 256 Mi multiplications"
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
  bench::RunEstimate estimate;
  for (const OperationPlan& each : plan.operations) {
    estimate = estimate + bench::estimate_run(each.request(*plan.device));
  }
  return text::align_columns(tensor_rows(plan), 0) + "\n" +
         text::align_columns(fact_rows(plan, estimate), 0) +
         "\nNothing was measured and no report was written: --dry-run.\n";
}

}  // namespace nf4bench::cli
