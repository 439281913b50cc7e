#include "plan.hpp"

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
  Plan first;
  Plan second;
  nf4_status status = plan_grouped(device, up, routing, product, first);
  if (status == NF4_OK) status = plan_grouped(device, down, routing, product, second);
  if (status != NF4_OK) return status;
  kernels::Activation between;
  status = read_activation(options, first.job.outputs, between);
  if (status != NF4_OK) return status;
  if (product->tokens != routing->tokens || routing->sums_slots != 1 ||
      up->experts != down->experts || second.job.inputs != between.columns) {
    return NF4_INVALID_ARGUMENT;
  }
  first.job.group.sums_slots = false;
  second.job.group.slots_have_rows = true;
  between.type = first.job.output_type;
  between.rows = slots_of(first.job);
  const kernels::DeviceFacts& facts = first.target.facts;
  const kernels::OwnKernels& own = first.target.backend->kernels();
  plan.target = first.target;
  plan.layer = {own.choose_grouped(first.job, facts), own.choose_grouped(second.job, facts),
                first.job, second.job, between};
  if (plan.layer.first == nullptr || plan.layer.second == nullptr) return NF4_UNSUPPORTED;
  plan.layer.fuse(facts);
  plan.workspace_bytes = static_cast<std::size_t>(plan.layer.workspace_bytes({.device = facts}));
  return NF4_OK;
}

}  // namespace nf4bench::lib
