#include "cli/commands/run/run_plan.hpp"

#include "base/memory.hpp"
#include "cli/options/choices.hpp"
#include "cli/options/peer_option.hpp"
#include "cli/outputs.hpp"
#include "device/devices.hpp"
#include "device/rotation.hpp"
#include "operation/dequantize.hpp"
#include "plan/memory_plan.hpp"
#include "plan/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nf4bench::cli {
namespace {

constexpr char kNoBaseline[] = "none";

// Checks all words that can be checked before a file is opened.
record::Settings parse_options(const RunArguments& arguments) {
  record::Settings options = arguments.options;
  options.output_types = parse_output_types(arguments.dtypes);
  options.caches = parse_caches(arguments.caches);
  options.launches = parse_launches(arguments.launches);
  options.verify = parse_verify(arguments.verify);
  options.measure_stream_shapes = !arguments.no_ceilings;
  options.seed = arguments.synthetic.seed;
  check_device_name(arguments.device);
  return options;
}

plan::SourceRequest source_request(const RunArguments& arguments) {
  plan::SourceRequest request = {.inputs = arguments.inputs,
                                 .shapes = arguments.shapes,
                                 .presets = arguments.presets,
                                 .synthetic = arguments.synthetic,
                                 .tensor_regex = arguments.tensor_regex};
  // Random codes, because the power that a GPU draws depends on the data.
  request.synthetic.distribution = nf4::Distribution::kRandomCodes;
  request.synthetic.absmax_kind =
      arguments.plain ? nf4::AbsmaxKind::kPlain : nf4::AbsmaxKind::kNested;
  return request;
}

// The variant that speedups refer to; empty for none, also when its library could not be loaded.
std::string choose_baseline(const std::string& word, const kernels::Catalog& catalog,
                            const peer::Peers& peers) {
  if (word == kNoBaseline || (!word.empty() && peers.is_of_absent_peer(word))) return "";
  if (word.empty()) return catalog.default_baseline;
  check_baseline(word, peers.variants());
  return word;
}

// The selected variants; the baseline is put first if it was not selected.
std::vector<plan::SelectedVariant> choose_variants(const std::vector<std::string>& patterns,
                                                   const std::string& baseline,
                                                   const peer::Peers& peers) {
  std::vector<plan::SelectedVariant> selected =
      plan::select_variants(peers.variants(), without_absent_peers(patterns, peers));
  const auto is_baseline = [&](const plan::SelectedVariant& each) { return each.name == baseline; };
  if (std::any_of(selected.begin(), selected.end(), is_baseline)) return selected;
  for (const kernels::Variant& variant : peers.variants()) {
    if (baseline == variant.name) selected.insert(selected.begin(), {baseline, variant});
  }
  return selected;
}

// The launch modes that are wanted, if `device` has them all; its first when none is named.
std::vector<record::LaunchMode> choose_launches(const std::vector<record::LaunchMode>& wanted,
                                                const device::Device& device) {
  const auto available = device.launch_modes();
  if (wanted.empty()) return {available.front()};
  for (const record::LaunchMode mode : wanted) {
    if (std::find(available.begin(), available.end(), mode) != available.end()) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("--launch: \"{}\" does not exist on {}; leave the option out there",
                            to_string(mode), device.info().id));
  }
  return wanted;
}

// Where the report goes, checked before foreign code runs and a device is opened.
OutputTarget choose_output(const RunArguments& arguments, const plan::Sources& sources,
                           const std::vector<peer::PeerArgument>& peers, const Context& context) {
  CommandInputs inputs = {.checkpoints = {}, .peers = peers};
  for (const auto& each : sources.checkpoints) inputs.checkpoints.push_back(each.get());
  OutputTarget output =
      report_target("--json", arguments.json, files_read(inputs, context), arguments.force);
  if (!output.path.empty()) check_text_output(output);
  return output;
}

plan::TensorChoice choose_tensors(const RunArguments& arguments) {
  return arguments.all_tensors ? plan::TensorChoice::kAll : plan::TensorChoice::kOnePerGeometry;
}

}  // namespace

RunPlan plan_run(const RunArguments& arguments, const Context& context) {
  record::Settings options = parse_options(arguments);
  const bool keep_samples = parse_keep_samples(arguments.samples);
  const std::vector<peer::PeerArgument> peer_arguments = peer::parse_peers(arguments.peers);
  plan::Sources sources = plan::find_sources(source_request(arguments));
  OutputTarget output = choose_output(arguments, sources, peer_arguments, context);
  auto device = device::open_device(arguments.device, {.config = arguments.fused_config,
                                                       .threads = arguments.threads,
                                                       .caches_rotated = options.caches_rotated});
  if (options.caches_rotated == 0) {
    options.caches_rotated = device::default_rotation(device->info().kind);
  }
  const operation::Operation& operation = operation::dequantize();
  const kernels::Catalog& catalog = operation.catalog(device->info().kind);
  peer::Peers peers = load_peers(peer_arguments, *device, operation);
  options.baseline = choose_baseline(arguments.baseline, catalog, peers);
  options.launches = choose_launches(options.launches, *device);
  auto variants = choose_variants(arguments.variants, options.baseline, peers);
  auto tensors = plan::plan_tensors(std::move(sources.tensors), choose_tensors(arguments));
  plan::check_memory(operation, tensors, options, {device->info(), usable_memory_bytes()});
  std::vector<std::string> warnings = std::move(sources.warnings);
  warnings.insert(warnings.end(), peers.warnings().begin(), peers.warnings().end());
  return {.options = std::move(options),
          .operation = operation,
          .checkpoints = std::move(sources.checkpoints),
          .device = std::move(device),
          .peers = std::move(peers),
          .variants = std::move(variants),
          .tensors = std::move(tensors),
          .keep_samples = keep_samples,
          .warnings = std::move(warnings),
          .output = std::move(output)};
}

}  // namespace nf4bench::cli
