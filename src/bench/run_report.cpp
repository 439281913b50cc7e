#include "bench/run_report.hpp"

#include "base/text.hpp"
#include "nf4/finiteness.hpp"
#include "nf4/tensor.hpp"
#include "peer/peer_argument.hpp"
#include "report/host.hpp"
#include "report/tool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace nf4bench::bench {
namespace {

record::ReportTensor report_tensor(const plan::PlannedTensor& planned) {
  const plan::TensorSource& source = planned.source;
  return {.id = planned.id,
          .name = source.name,
          .source = source.source,
          .geometry = source.geometry,
          .dtype = source.dtype,
          .sha256 = "",
          .multiplicity = planned.multiplicity};
}

record::ReportVariant report_variant(const std::string& operation,
                                     const plan::SelectedVariant& selected) {
  const kernels::Traits& traits = selected.variant.traits;
  return {.name = selected.name,
          .operation = operation,
          .summary = selected.variant.summary,
          .launches = traits.launches,
          .inline_ptx = traits.inline_ptx,
          .cache_hints = traits.cache_hints,
          .persistent = traits.persistent,
          .mirrors = traits.mirrors,
          .compiled_from = traits.compiled_from};
}

// Planned tensors are t0, t1, ..., t10, ...: in the order of their ids if a longer id comes later.
bool comes_before(const record::ReportTensor& tensor, const std::string& id) {
  return std::pair(tensor.id.size(), std::string_view(tensor.id)) <
         std::pair(id.size(), std::string_view(id));
}

std::optional<record::ExpertChoice> experts_of(const record::RunOptions& options) {
  const bool has_experts = std::ranges::any_of(operation::operations_of(options.operations),
                                               &operation::Operation::has_routing);
  if (!has_experts) return std::nullopt;
  return record::ExpertChoice{options.top_k, options.routing};
}

record::Settings settings_of(const record::RunOptions& options) {
  return {.operations = {},
          .output_types = options.output_types,
          .caches = options.caches,
          .launches = options.launches,
          .baseline = options.baseline,
          .caches_rotated = options.caches_rotated,
          .min_samples = options.min_samples,
          .max_time_s = options.max_time_s,
          .precision = options.precision,
          .min_sample_s = options.min_sample_s,
          .seed = options.seed,
          .verify = options.verify,
          .measure_stream_shapes = options.measure_stream_shapes,
          .tokens = options.tokens,
          .activations = options.activations,
          .activations_file = options.activations_file,
          .cold_activations = options.cold_activations,
          .experts = experts_of(options),
          .together = options.together};
}

}  // namespace

record::Report start_report(device::Device& device, const record::RunOptions& options) {
  record::Report report;
  report.tool = report::tool_info();
  report.command = options.command;
  report.started_at = report::utc_now();
  report.host = report::host_info();
  report.device = device.info();
  report.state_before = device.state();
  report.settings = settings_of(options);
  for (const peer::PeerArgument& each : peer::parse_peers(options.peers)) {
    report.peers.push_back(report::peer_file(each.name, each.path));
  }
  return report;
}

void list_operation(record::Report& report, const RunRequest& request) {
  report.settings.operations.push_back({request.operation.name, request.options.baseline});
  for (const plan::SelectedVariant& each : request.variants) {
    report.variants.push_back(report_variant(request.operation.name, each));
  }
  for (const plan::PlannedTensor& planned : request.tensors) {
    const auto place =
        std::lower_bound(report.tensors.begin(), report.tensors.end(), planned.id, comes_before);
    if (place != report.tensors.end() && place->id == planned.id) continue;
    report.tensors.insert(place, report_tensor(planned));
  }
}

void note_loaded(record::Report& report, const LoadedTensor& loaded) {
  std::vector<nf4::OutputType> types = report.settings.output_types;
  if (types.empty()) types = {loaded.source.dtype};
  for (const nf4::OutputType type : types) {
    const std::string found = nf4::describe_non_finite(loaded.tensor, type);
    if (found.empty()) continue;
    const std::string warning = fmt::format("{}: {}", escaped(loaded.tensor.name), found);
    if (std::ranges::find(report.warnings, warning) == report.warnings.end()) {
      report.warnings.push_back(warning);  // once, however many operations load it
    }
  }
  if (!loaded.is_timed()) return;
  const auto tensor = std::lower_bound(report.tensors.begin(), report.tensors.end(),
                                       loaded.planned.id, comes_before);
  tensor->sha256 = nf4::fingerprint(loaded.tensor);
}

}  // namespace nf4bench::bench
