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

}  // namespace nf4bench::lib
