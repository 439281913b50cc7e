#include "plan.hpp"

#include "layer.hpp"

#include <algorithm>

namespace nf4bench::lib {
namespace {

// Of the variant that was chosen, if any was.
nf4_status find_workspace(Plan& plan) {
  if (plan.variant == nullptr) return NF4_UNSUPPORTED;
  plan.workspace_bytes = static_cast<std::size_t>(
      workspace_of(*plan.variant, plan.job, {.device = plan.target.facts}));
  return NF4_OK;
}

}  // namespace

nf4_status plan_dequantize(const nf4_device* device, const nf4_weight* weight, std::int32_t type,
                           Plan& plan) {
  nf4_status status = read_device(device, plan.target);
  if (status == NF4_OK) status = read_sizes(weight, type, plan.job);
  if (status != NF4_OK) return status;
  const Target& target = plan.target;
  plan.variant = &target.backend->kernels().dequantize();
  const bool can = why_unsupported(*plan.variant, plan.job, target.facts) == nullptr;
  return can ? NF4_OK : NF4_UNSUPPORTED;
}

nf4_status plan_linear(const nf4_device* device, const nf4_weight* weight,
                       const nf4_product* product, Plan& plan) {
  nf4_status status = read_device(device, plan.target);
  if (status == NF4_OK) status = read_sizes(weight, product, plan.job);
  if (status != NF4_OK) return status;
  const Target& target = plan.target;
  plan.variant = target.backend->kernels().choose_matmul(plan.job, target.facts).variant;
  return find_workspace(plan);
}

nf4_status plan_grouped(const nf4_device* device, const nf4_stack* stack,
                        const nf4_routing* routing, const nf4_product* product, Plan& plan) {
  nf4_status status = read_device(device, plan.target);
  if (status == NF4_OK) status = read_sizes(stack, routing, product, plan.job);
  if (status != NF4_OK) return status;
  plan.variant = plan.target.backend->kernels().choose_grouped(plan.job, plan.target.facts);
  return find_workspace(plan);
}

nf4_status plan_experts(const nf4_device* device, const nf4_stack* up, const nf4_stack* down,
                        const nf4_routing* routing, const nf4_experts_options* options,
                        const nf4_product* product, LayerPlan& plan) {
  nf4_status status = plan_grouped(device, up, routing, product, plan.up);
  if (status == NF4_OK) status = plan_grouped(device, down, routing, product, plan.down);
  if (status != NF4_OK) return status;
  kernels::Job& first = plan.up.job;
  kernels::Job& second = plan.down.job;
  status = read_activation(options, first.outputs, plan.activation);
  if (status != NF4_OK) return status;
  if (product->tokens != routing->tokens || routing->sums_slots != 1 ||
      up->experts != down->experts || second.inputs != plan.activation.columns) {
    return NF4_INVALID_ARGUMENT;
  }
  first.group.sums_slots = false;
  second.group.slots_have_rows = true;
  const kernels::OwnKernels& own = plan.up.target.backend->kernels();
  plan.up.variant = own.choose_grouped(first, plan.up.target.facts);
  plan.down.variant = own.choose_grouped(second, plan.up.target.facts);
  plan.is_activated = plan.up.variant != nullptr &&
                      activates(*plan.up.variant, first, plan.activation, plan.up.target.facts);
  if (plan.is_activated) {
    static_cast<kernels::Problem&>(first) = activated(first, plan.activation);
  }
  status = find_workspace(plan.up);
  if (status == NF4_OK) status = find_workspace(plan.down);
  if (status != NF4_OK) return status;
  plan.activation.type = first.output_type;
  plan.activation.rows = slots_of(first);
  const auto aligned_bytes = [&](std::int64_t columns) {
    const auto values = static_cast<std::size_t>(slots_of(first) * columns);
    return (values * kernels::size_in_bytes(first.output_type) + 255) / 256 * 256;
  };
  plan.activated = plan.is_activated ? 0 : aligned_bytes(first.outputs);
  plan.products = plan.activated + aligned_bytes(second.inputs);
  plan.workspace_bytes =
      plan.products + std::max(plan.up.workspace_bytes, plan.down.workspace_bytes);
  return NF4_OK;
}

}  // namespace nf4bench::lib
