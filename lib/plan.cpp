#include "plan.hpp"

namespace nf4bench::lib {

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
  if (plan.variant == nullptr) return NF4_UNSUPPORTED;
  plan.workspace_bytes =
      static_cast<std::size_t>(workspace_of(*plan.variant, plan.job, {.device = target.facts}));
  return NF4_OK;
}

}  // namespace nf4bench::lib
