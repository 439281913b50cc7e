#include "bench/operation_plan.hpp"

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/nearest_names.hpp"
#include "base/text.hpp"
#include "plan/experts.hpp"
#include "plan/memory_plan.hpp"
#include "plan/problems.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace nf4bench::bench {
namespace {

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
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--variant: {} names no variant of {}; leave that operation out, or "
                    "name one of its variants, too",
                    escaped(fmt::format("{}", fmt::join(patterns, ","))), plan.operation.name));
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
  if (std::any_of(selected.begin(), selected.end(), is_baseline)) return selected;
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
  throw Error(ErrorKind::kUsage, fmt::format("--operation: this build has no variant of {} for {}; "
                                             "\"nf4bench list variants\" shows those there are",
                                             plan.operation.name, device.id));
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

}  // namespace

peer::LoadedPeers peers_of(const std::deque<OperationPlan>& plans) {
  peer::LoadedPeers loaded;
  for (const OperationPlan& plan : plans) loaded.push_back(&plan.peers);
  return loaded;
}

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

}  // namespace nf4bench::bench
