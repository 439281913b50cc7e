// Fused; integer tensor cores, which take the codes themselves as one operand and what is left of
// the codebook beside a line as another (line_and_residual.cuh). Activations become 16-bit
// integers, two bytes each, so that sums over a block of the weight are exact; only scales and sums
// over blocks are float32.

#include "cuda/matmul/limits.hpp"
#include "cuda/matmul/linear/integer_tokens.cuh"
#include "cuda/matmul/linear/integer_vector.cuh"
#include "cuda/matmul/linear/linear_plan.hpp"
#include "cuda/matmul/persistent_launch.cuh"
#include "cuda/matmul/scales/lane_scales.cuh"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr LineAndResidual::Tables kTables = LineAndResidual::make_tables();

// Calls use(integral_constant<ScaleKind>, integral_constant<int>: boxes a unit).
template <class Function>
void with_unit_kind(const Problem& problem, int unit_boxes, Function use) {
  const auto with_kind = [&](auto boxes) {
    switch (scale_kind(problem, unit_boxes)) {
      case ScaleKind::kPlain:
        return use(std::integral_constant<ScaleKind, ScaleKind::kPlain>{}, boxes);
      case ScaleKind::kNested:
        return use(std::integral_constant<ScaleKind, ScaleKind::kNested>{}, boxes);
      case ScaleKind::kPacked:
        return use(std::integral_constant<ScaleKind, ScaleKind::kPacked>{}, boxes);
    }
  };
  if (unit_boxes == 4) return with_kind(std::integral_constant<int, 4>{});
  if (unit_boxes == 2) return with_kind(std::integral_constant<int, 2>{});
  with_kind(std::integral_constant<int, 1>{});
}

template <OutputType kType>
void launch_vector(const Job& job, const Launch& launch) {
  const PlannedUnits planned = plan_vector(job, launch.device);
  with_unit_kind(job, planned.unit_boxes, [&](auto kind, auto boxes) {
    launch_grid(launch, planned.grid,
                integer_vector<kType, decltype(kind)::value, decltype(boxes)::value>,
                weight_map(job, launch.device, kBoxRows), job, planned.plan, kTables);
  });
}

template <OutputType kType>
void launch_tokens(const Job& job, const Launch& launch) {
  const PlannedUnits planned = plan_tokens(job, launch.device);
  with_unit_kind(job, planned.unit_boxes, [&](auto kind, auto boxes) {
    launch_grid(launch, planned.grid,
                integer_tokens<kType, decltype(kind)::value, decltype(boxes)::value>,
                weight_map(job, launch.device, kBoxRows), job, planned.plan, kTables);
  });
}

template <OutputType kType>
void launch_typed(const Job& job, const Launch& launch) {
  if (job.tokens > 1) return launch_tokens<kType>(job, launch);
  launch_vector<kType>(job, launch);
}

void launch_linear(const Job& job, const Launch& launch) {
  if (job.output_type == OutputType::kFloat16) {
    launch_typed<OutputType::kFloat16>(job, launch);
  } else {
    launch_typed<OutputType::kBfloat16>(job, launch);
  }
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
