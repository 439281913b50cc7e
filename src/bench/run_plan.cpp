#include "bench/run_plan.hpp"

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/nearest_names.hpp"
#include "base/text.hpp"
#include "device/devices.hpp"
#include "operation/activations.hpp"
#include "operation/experts.hpp"
#include "plan/experts.hpp"
#include "plan/problems.hpp"
#include "plan/token_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace nf4bench::bench {
namespace {

// What all operations of a run have in common.
struct OperationChoice {
  const record::RunOptions& options;
  const std::vector<peer::PeerArgument>& peers;
  device::Device& device;
  const std::function<void(const std::string&)>& warn;  // of peers that are not there
};

peer::LoadedPeers peers_of(const std::deque<OperationPlan>& plans) {
  peer::LoadedPeers loaded;
  for (const OperationPlan& plan : plans) loaded.push_back(&plan.peers);
  return loaded;
}

constexpr char kNoBaseline[] = "none";

using Variants = std::vector<kernels::Variant>;

bool has_variant(const Variants& variants, const std::string& name) {
  return std::ranges::any_of(variants, [&](const kernels::Variant& v) { return name == v.name; });
}

// The variants of all operations, each name once.
Variants all_variants(const std::deque<OperationPlan>& plans) {
  Variants all;
  for (const OperationPlan& plan : plans) {
    for (const kernels::Variant& variant : plan.peers.variants()) {
      if (!has_variant(all, variant.name)) all.push_back(variant);
    }
  }
  return all;
}

// The variant that speedups of `plan` refer to; empty for none. A word that only another operation
// knows leaves this one its default.
std::string choose_baseline(const std::string& word, const OperationPlan& plan,
                            record::DeviceKind kind) {
  if (word == kNoBaseline || (!word.empty() && has_variant(plan.peers.variants(), word))) {
    return word == kNoBaseline ? "" : word;
  }
  return plan.operation.catalog(kind).default_baseline;
}

// `patterns` without those that match nothing in this operation, but something in another one.
std::vector<std::string> own_patterns(const std::vector<std::string>& patterns,
                                      const OperationPlan& plan) {
  std::vector<std::string> own = patterns;
  std::erase_if(own, [&](const std::string& pattern) {
    return std::ranges::none_of(plan.peers.variants(), [&](const kernels::Variant& variant) {
      return matches_wildcard(pattern, variant.name);
    });
  });
  if (own.empty() && !patterns.empty()) {
    throw Error(ErrorKind::kUsage,
                "--variant: {} names no variant of {}; leave that operation out, or name one of "
                "its variants, too",
                escaped(fmt::format("{}", fmt::join(patterns, ","))), plan.operation.name);
  }
  return own;
}

// The selected variants, without a choice those that need no request; the baseline is put first if
// it is not among them.
std::vector<plan::SelectedVariant> choose_variants(const std::vector<std::string>& patterns,
                                                   const OperationPlan& plan) {
  const std::string& baseline = plan.options.baseline;
  std::vector<plan::SelectedVariant> selected =
      plan::select_variants(plan.peers.variants(), own_patterns(patterns, plan));
  if (patterns.empty()) {
    std::erase_if(selected, [](const auto& each) { return each.variant.traits.on_request; });
  }
  const auto is_baseline = [&](const plan::SelectedVariant& each) { return each.name == baseline; };
  if (std::ranges::any_of(selected, is_baseline)) return selected;
  for (const kernels::Variant& variant : plan.peers.variants()) {
    if (baseline == variant.name) selected.insert(selected.begin(), {baseline, variant});
  }
  return selected;
}

void check_baseline(const std::string& word, const Variants& available) {
  if (has_variant(available, word)) return;
  std::vector<std::string> names;
  for (const kernels::Variant& variant : available) names.emplace_back(variant.name);
  throw not_one_of("--baseline", word, names);
}

void require_variants(const OperationPlan& plan, const record::DeviceInfo& device) {
  if (!plan.peers.variants().empty()) return;
  throw Error(ErrorKind::kUsage,
              "--operation: this build has no variant of {} for {}; \"nf4bench list variants\" "
              "shows those there are",
              plan.operation.name, device.id);
}

void choose_all_variants(std::deque<OperationPlan>& plans, const OperationChoice& choice) {
  const record::DeviceInfo& device = choice.device.info();
  const Variants all = all_variants(plans);
  const peer::LoadedPeers peers = peers_of(plans);
  // There is no baseline either when its library could not be loaded.
  const std::string& wanted = choice.options.baseline;
  const std::string baseline =
      !wanted.empty() && peer::is_of_absent_peer(wanted, peers) ? kNoBaseline : wanted;
  if (!baseline.empty() && baseline != kNoBaseline) check_baseline(baseline, all);
  const auto patterns = peer::without_absent_peers(choice.options.variants, peers);
  plan::select_variants(all, patterns);  // for its errors
  for (OperationPlan& plan : plans) {
    plan.options.baseline = choose_baseline(baseline, plan, device.kind);
    plan.variants = choose_variants(patterns, plan);
  }
}

// Those of `sources` that an operation takes.
std::vector<plan::TensorSource> fitting_sources(const operation::Operation& operation,
                                                std::vector<plan::TensorSource> sources,
                                                const record::RunOptions& options) {
  if (operation.takes == operation::WeightKind::kStacks) return whole_stacks(sources, options);
  std::erase_if(sources, [](const plan::TensorSource& source) { return source.for_stacks; });
  if (operation.takes == operation::WeightKind::kAny) return sources;
  return plan::split_stacks(std::move(sources));
}

// Operations on matrices or stacks have tensors of their own where there are stacks.
void choose_all_tensors(std::deque<OperationPlan>& plans,
                        const std::vector<plan::TensorSource>& sources,
                        const record::RunOptions& options) {
  const plan::TensorChoice choice =
      options.all_tensors ? plan::TensorChoice::kAll : plan::TensorChoice::kOnePerGeometry;
  const bool has_stacks = std::ranges::any_of(
      sources, [](const plan::TensorSource& source) { return source.geometry.shape.size() > 2; });
  std::size_t tensors = 0;
  for (OperationPlan& plan : plans) {
    const auto alike = std::ranges::find_if(plans, [&](const OperationPlan& other) {
      return !has_stacks || other.operation.takes == plan.operation.takes;
    });
    if (&*alike != &plan) {
      plan.tensors = alike->tensors;
      continue;
    }
    plan.tensors =
        plan::plan_tensors(fitting_sources(plan.operation, sources, options), choice, tensors);
    tensors += plan.tensors.size();
  }
}

peer::ProcessLimits limits_of(const record::RunOptions& options) {
  peer::ProcessLimits limits;
  limits.call_s = options.call_timeout_s;
  return limits;
}

// The plans of `operations`: for each its peers, baseline, variants and tensors. Tensors that two
// of them have in common have one id. Throws Error when something cannot be used, when an operation
// is left without a variant, or when a tensor does not fit the operation or the device.
std::deque<OperationPlan> plan_operations(std::vector<operation::Operation> operations,
                                          const std::vector<plan::TensorSource>& sources,
                                          const OperationChoice& choice) {
  const record::DeviceInfo& device = choice.device.info();
  std::deque<OperationPlan> plans;
  for (operation::Operation& operation : operations) {
    peer::Peers peers =
        peer::load_peers(choice.peers, choice.device, operation, limits_of(choice.options));
    plans.push_back({.operation = std::move(operation),
                     .options = choice.options,
                     .peers = std::move(peers),
                     .variants = {},
                     .tensors = {}});
  }
  for (const std::string& each : peer::absence_warnings(peers_of(plans))) choice.warn(each);
  for (const OperationPlan& plan : plans) require_variants(plan, device);
  choose_all_variants(plans, choice);
  choose_all_tensors(plans, sources, choice.options);
  for (const OperationPlan& plan : plans) {
    plan::check_types(plan.operation, plan.tensors, plan.options);
    plan::check_memory(plan.operation, plan.tensors, plan.options, {device, usable_memory_bytes()});
  }
  return plans;
}

// The launch modes that are wanted, if `device` has them all; its first when none is named.
std::vector<record::LaunchMode> choose_launches(const std::vector<record::LaunchMode>& wanted,
                                                const device::Device& device) {
  const auto available = device.launch_modes();
  if (wanted.empty()) return {available.front()};
  for (const record::LaunchMode mode : wanted) {
    if (std::ranges::find(available, mode) != available.end()) continue;
    throw Error(ErrorKind::kUsage,
                "--launch: \"{}\" does not exist on {}; leave the option out there",
                to_string(mode), device.info().id);
  }
  return wanted;
}

// Gives the operations that take activations those of a file, where one is named.
void use_activations_file(std::deque<OperationPlan>& plans, const record::RunOptions& options) {
  if (options.activations != record::Activations::kFile) return;
  for (OperationPlan& plan : plans) {
    if (!plan.operation.has_tokens) continue;
    std::int64_t most = 0;
    for (const plan::PlannedTensor& each : plan.tensors) {
      for (const auto& problem : plan::problems_of(plan.operation, each.source, options)) {
        most = std::max(most, kernels::input_rows(problem));
      }
    }
    auto given = plan::read_activations(options.activations_file, most);
    plan::check_fit(given, plan.operation, plan.tensors, options);
    plan.operation = operation::with_activations(std::move(plan.operation), std::move(given));
  }
}

// The same of ids.
void use_routing_file(std::deque<OperationPlan>& plans, const record::RunOptions& options) {
  const operation::Routing routing = operation::parse_routing(options.routing);
  if (routing.kind != operation::RoutingKind::kFile) return;
  const std::int64_t most = *std::ranges::max_element(options.tokens);
  for (OperationPlan& plan : plans) {
    if (!plan.operation.has_routing) continue;
    auto ids = plan::read_ids(routing.file, most, plan.tensors);
    plan.operation = operation::with_ids(std::move(plan.operation), std::move(ids));
  }
}

// Leaves this task its share of what the tasks of `shard` measure. Returns what a reader of its
// report must know.
std::string take_share(std::deque<OperationPlan>& plans, const record::Shard& shard) {
  std::size_t share = 0;
  std::size_t all = 0;
  for (OperationPlan& plan : plans) {
    std::vector<plan::PlannedTensor> own;
    for (std::size_t i = static_cast<std::size_t>(shard.index); i < plan.tensors.size();
         i += static_cast<std::size_t>(shard.count)) {
      own.push_back(std::move(plan.tensors[i]));
    }
    share = std::max(share, own.size());
    all = std::max(all, plan.tensors.size());
    plan.tensors = std::move(own);
  }
  const std::string name = record::shard_text(shard.index, shard.count);
  if (share == 0) {
    throw Error(ErrorKind::kUsage,
                "--split: that there are more tasks than geometries ({}) leaves {} nothing to "
                "measure; start {} at most",
                all, name, all);
  }
  return fmt::format("{} measured {} of {} geometries; its times of the model are of these alone",
                     name, share, all);
}

}  // namespace

std::vector<std::string> idle_options(const record::RunOptions& options) {
  const record::RunOptions defaults;
  std::vector<std::string> idle;
  const auto add = [&](const char* option, bool is_given, bool operation::Operation::*heeds) {
    const auto heeds_it = [&](const operation::Operation& each) { return each.*heeds; };
    if (!is_given) return;
    if (std::ranges::any_of(operation::operations_of(options.operations), heeds_it)) return;
    std::vector<std::string> names;
    for (const operation::Operation& each : operation::operations()) {
      if (heeds_it(each)) names.push_back(each.name);
    }
    idle.push_back(
        fmt::format("{} changes nothing without --operation {}", option, fmt::join(names, " or ")));
  };
  constexpr auto kTokens = &operation::Operation::has_tokens;
  add("--tokens", options.tokens != defaults.tokens, kTokens);
  add("--activations", options.activations != defaults.activations, kTokens);
  add("--crossover", options.crossover, kTokens);
  add("--cold-activations", options.cold_activations, kTokens);
  constexpr auto kRouting = &operation::Operation::has_routing;
  add("--part", !options.parts.empty(), kRouting);
  add("--activation", options.activation.has_value(), kRouting);
  add("--top-k", options.top_k > 0, kRouting);
  add("--routing", options.routing != defaults.routing, kRouting);
  add("--transposed", options.transposed, kRouting);
  // Of experts; else it is among the idle ones already.
  const bool has_layer = std::ranges::count(options.parts, record::StackPart::kLayer) > 0;
  if (options.activation && !has_layer && idle.empty()) {
    idle.emplace_back("--activation changes nothing without --part layer");
  }
  if (options.crossover && options.tokens.size() == 1) {
    idle.emplace_back("--crossover changes nothing with a single number of --tokens");
  }
  return idle;
}

RunPlan make_plan(RunParts parts, const std::function<void(const std::string&)>& warn) {
  record::RunOptions& options = parts.options;
  auto device = device::open_device(options.device,
                                    {.config = options.fused_config,
                                     .threads = options.threads,
                                     .shares_buffers = !parts.peers.empty() && !options.in_process,
                                     .caches_rotated = options.caches_rotated});
  if (options.caches_rotated == 0) {
    options.caches_rotated = device::default_rotation(device->info().kind);
  }
  options.launches = choose_launches(options.launches, *device);
  auto plans = plan_operations(operation::operations_of(options.operations), parts.sources.tensors,
                               {options, parts.peers, *device, warn});
  use_activations_file(plans, options);
  use_routing_file(plans, options);
  options.baseline = plans.front().options.baseline;
  std::vector<std::string> warnings = std::move(parts.sources.warnings);
  if (parts.shard && parts.shard->split) warnings.push_back(take_share(plans, *parts.shard));
  for (std::string& warning : peer::absence_warnings(peers_of(plans))) {
    warnings.push_back(std::move(warning));
  }
  std::vector<std::string> absent = peer::absent_peers(peers_of(plans));
  return {.options = std::move(options),
          .checkpoints = std::move(parts.sources.checkpoints),
          .device = std::move(device),
          .operations = std::move(plans),
          .warnings = std::move(warnings),
          .shard = parts.shard,
          .absent_peers = std::move(absent)};
}

}  // namespace nf4bench::bench
