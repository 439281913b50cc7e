// Fused; integer tensor cores, which take the codes themselves as one operand and what is left of
// the codebook beside a line as another (line_and_residual.cuh). Activations become 16-bit
// integers, two bytes each, so that sums over a block of the weight are exact; only scales and sums
// over blocks are float32.

#include "cuda/dispatch.cuh"
#include "cuda/matmul/limits.hpp"
#include "cuda/matmul/linear/integer_tokens.cuh"
#include "cuda/matmul/linear/integer_vector.cuh"
#include "cuda/matmul/linear/linear_launch.cuh"
#include "cuda/matmul/linear/linear_plan.hpp"
#include "cuda/matmul/persistent_launch.cuh"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

template <OutputType kType>
void launch_vector(const Job& job, const Launch& launch) {
  const PlannedUnits planned = plan_vector(job, launch.device);
  with_unit_kind(job, planned.unit_boxes, [&](auto kind, auto boxes) {
    launch_grid(launch, planned.grid,
                integer_vector<kType, decltype(kind)::value, decltype(boxes)::value>,
                weight_map(job, launch.device, kBoxRows), job, planned.plan, kLineTables);
  });
}

template <OutputType kType>
void launch_tokens(const Job& job, const Launch& launch) {
  const PlannedUnits planned = plan_tokens(job, launch.device);
  with_unit_kind(job, planned.unit_boxes, [&](auto kind, auto boxes) {
    launch_grid(launch, planned.grid,
                integer_tokens<kType, decltype(kind)::value, decltype(boxes)::value>,
                weight_map(job, launch.device, kBoxRows), job, planned.plan, kLineTables);
  });
}

template <OutputType kType>
void launch_typed(const Job& job, const Launch& launch) {
  if (job.tokens > 1) return launch_tokens<kType>(job, launch);
  launch_vector<kType>(job, launch);
}

void launch_linear(const Job& job, const Launch& launch) {
  dispatch_16_bit(job, [&](auto type) { launch_typed<decltype(type)::value>(job, launch); });
}

}  // namespace

Variant matmul_mma_linear() {
  Variant variant;
  variant.name = "mma_linear";
  variant.summary = "fused, up to 4 tokens; integer tensor cores, a line and residuals from prmt";
  variant.traits.launches = 1;
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.traits.mirrors = "the fastest for few tokens";
  variant.unsupported = mma_linear_unsupported;
  variant.launch = launch_linear;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
