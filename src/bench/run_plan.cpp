#include "bench/run_plan.hpp"

#include "device/devices.hpp"
#include "operation/activations.hpp"
#include "operation/experts.hpp"
#include "plan/activations_file.hpp"
#include "plan/problems.hpp"
#include "plan/routing_file.hpp"
#include "plan/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace nf4bench::bench {
namespace {

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

// Gives the operations that take activations those of a file, where one is named.
void use_activations_file(std::deque<OperationPlan>& plans, const record::RunOptions& options) {
  if (options.activations != record::Activations::kFile) return;
  for (OperationPlan& plan : plans) {
    if (!plan.operation.has_tokens) continue;
    std::int64_t most = 0;
    for (const plan::PlannedTensor& each : plan.tensors) {
      for (const auto& problem : plan::problems_of(plan.operation, each.source, options)) {
        most = std::max(most, operation::input_rows(problem));
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
                fmt::format("--split: that there are more tasks than geometries ({}) leaves {} "
                            "nothing to measure; start {} at most",
                            all, name, all));
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
