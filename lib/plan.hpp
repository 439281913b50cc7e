#pragma once

// What computes a request, found from its sizes.

#include "layer.hpp"
#include "request.hpp"

namespace nf4bench::lib {

struct Plan {
  Target target;
  kernels::Job job;  // its buffers are not known yet
  const kernels::Variant* variant = nullptr;
  std::size_t workspace_bytes = 0;
};

nf4_status plan_dequantize(const nf4_device* device, const nf4_weight* weight, std::int32_t type,
                           Plan& plan);
nf4_status plan_linear(const nf4_device* device, const nf4_weight* weight,
                       const nf4_product* product, Plan& plan);

nf4_status plan_grouped(const nf4_device* device, const nf4_stack* stack,
                        const nf4_routing* routing, const nf4_product* product, Plan& plan);

// A layer of experts, whose buffers are not known yet.
struct LayerPlan {
  Target target;
  kernels::LayerProducts layer;
  std::size_t workspace_bytes = 0;
};

nf4_status plan_experts(const nf4_device* device, const nf4_stack* up, const nf4_stack* down,
                        const nf4_routing* routing, const nf4_experts_options* options,
                        const nf4_product* product, LayerPlan& plan);

}  // namespace nf4bench::lib
