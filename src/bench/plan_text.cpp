#include "bench/estimate.hpp"
#include "bench/run_plan.hpp"
#include "text/page.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::bench {
namespace {

using Fact = std::pair<std::string, std::string>;
using Facts = std::vector<Fact>;

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
    names.push_back(each.name + (each.name == plan.options.baseline ? " (baseline)" : ""));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// A tensor for each operation, because they take different memory.
struct PlannedRow {
  const plan::PlannedTensor& planned;
  RunRequest request;

  const record::Geometry& geometry() const { return planned.source.geometry; }
};

std::string types_of(const PlannedRow& row) {
  const std::vector<nf4::OutputType>& types = row.request.options.output_types;
  return words(types.empty() ? std::vector{row.planned.source.dtype} : types);
}

text::Columns<PlannedRow> tensor_columns() {
  using Each = PlannedRow;
  return {{{"id"}, [](const Each& each) { return each.planned.id; }},
          {{"shape"}, [](const Each& each) { return record::describe_shape(each.geometry()); }},
          {{"absmax"},
           [](const Each& each) {
             return fmt::format("{}/{}", to_string(each.geometry().absmax_kind),
                                each.geometry().blocksize);
           }},
          {{"types"}, types_of},
          {{"times"}, [](const Each& each) { return each.planned.multiplicity; }},
          {{"memory", text::Unit::kBytes},
           [](const Each& each) { return buffer_bytes(each.request, each.planned.source); }},
          {{"tensor"}, [](const Each& each) { return each.planned.source.name; }}};
}

text::Sheet tensor_sheet(const RunPlan& plan) {
  std::vector<PlannedRow> rows;
  for (const OperationPlan& operation : plan.operations) {
    for (const plan::PlannedTensor& planned : operation.tensors) {
      rows.push_back({planned, operation.request(*plan.device)});
    }
  }
  return text::sheet_of(tensor_columns(), rows);
}

std::string tokens_text(const record::RunOptions& options) {
  return fmt::format("{} ({}{})", fmt::join(options.tokens, ", "),
                     options.activations == record::Activations::kFile
                         ? options.activations_file
                         : to_string(options.activations),
                     options.cold_activations ? ", cold" : "");
}

std::string routing_text(const record::RunOptions& options) {
  return options.top_k > 0 ? fmt::format("{}, {} experts a token", options.routing, options.top_k)
                           : options.routing;
}

// What is computed, and by which variants.
void add_operations(Facts& rows, const RunPlan& plan) {
  std::vector<std::string> names;
  bool has_tokens = false;
  bool has_routing = false;
  for (const OperationPlan& each : plan.operations) {
    names.push_back(each.operation.name);
    has_tokens = has_tokens || each.operation.has_tokens;
    has_routing = has_routing || each.operation.has_routing;
  }
  rows.push_back(
      {names.size() == 1 ? "operation" : "operations", fmt::format("{}", fmt::join(names, ", "))});
  if (has_tokens) rows.push_back({"tokens", tokens_text(plan.options)});
  if (has_routing) rows.push_back({"routing", routing_text(plan.options)});
  if (has_tokens && plan.options.crossover) {
    rows.push_back({"", "and more, not counted below, where the fastest variant changes"});
  }
  for (const OperationPlan& each : plan.operations) {
    const bool is_first = &each == &plan.operations.front();
    const std::string whose = names.size() == 1 ? "" : each.operation.name + ": ";
    rows.push_back({is_first ? "variants" : "", whose + variant_names(each)});
  }
}

Facts facts_of(const RunPlan& plan, const RunEstimate& estimate) {
  const record::DeviceInfo& device = plan.device->info();
  const record::RunOptions& options = plan.options;
  Facts rows = {{"device", fmt::format("{}: {}", device.id, device.name)}};
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
    for (const std::string& line : estimate.exclusions) rows.push_back({"", line});
  }
  rows.push_back(
      {"comparisons", fmt::format("{} of each variant with the reference{}",
                                  text::format_count(estimate.verifications, "output"),
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

std::string plan_text(const RunPlan& plan) {
  RunEstimate estimate;
  for (const OperationPlan& each : plan.operations) {
    estimate = estimate + estimate_run(each.request(*plan.device));
  }
  const text::Columns<Fact> columns = {{{"what"}, &Fact::first}, {{"plan"}, &Fact::second}};
  text::Page page({.width = 0});
  page.table(tensor_sheet(plan));
  page.blank();
  page.table(text::sheet_of(columns, facts_of(plan, estimate)));
  page.blank();
  page.line("Nothing was measured and no report was written: --dry-run.");
  return page.take();
}

}  // namespace nf4bench::bench
