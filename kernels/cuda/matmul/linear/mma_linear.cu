// Fused; integer tensor cores, which take the codes themselves as one operand and what is left of
// the codebook beside a line as another. Activations become 16-bit integers, two bytes each, so
// that sums over a block of the weight are exact; only scales and sums over blocks are float32.

#include "cuda/matmul/linear/mma_linear_tokens.hpp"
#include "cuda/matmul/linear/mma_linear_vector.cuh"
#include "cuda/matmul/linear/unit_plan.hpp"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

PlannedUnits plan_vector(const Problem& problem, const DeviceFacts& device) {
  const int boxes = count_of(problem.inputs, kBoxColumns);
  return plan_units(problem, device, {1, 4, 100},
                    [&](int, int units) { return VectorLayout(boxes, units).bytes; });
}

template <OutputType kType>
void launch_vector(const Job& job, const Launch& launch) {
  constexpr ResidualTable kResiduals = make_residual_table();
  const PlannedUnits planned = plan_vector(job, launch.device);
  with_unit_kind(job, planned.unit_boxes, [&](auto kind, auto boxes) {
    launch_grid(launch, planned.grid,
                mma_linear_vector<kType, decltype(kind)::value, decltype(boxes)::value>,
                weight_map(job, launch.device, kBoxRows), job, planned.plan, kResiduals);
  });
}

constexpr std::int64_t kMostInputs = std::int64_t{1} << 20;
constexpr const char* kTooManyInputs = "has more inputs than fit into shared memory";

const char* unsupported(const Problem& problem, const DeviceFacts& device) {
  if (device.compute_capability < 80) return "needs integer tensor cores of compute capability 8.0";
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (problem.inputs % 64 != 0) return "needs a multiple of 64 inputs";
  if (problem.block_shift < 6) return "needs a blocksize of 64 or more";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  // No plan has to count so many.
  if (problem.inputs > kMostInputs) return kTooManyInputs;
  if (problem.tokens > 1) return mma_linear_tokens_unsupported(problem, device);
  if (plan_vector(problem, device).grid.shared_bytes > shared_bytes_a_block(device)) {
    return kTooManyInputs;
  }
  return nullptr;
}

std::size_t workspace_bytes(const Problem& problem, const Launch&) {
  return problem.tokens > 1 ? mma_linear_tokens_workspace(problem) : 0;
}

void launch_linear(const Job& job, const Launch& launch) {
  if (job.tokens > 1) return launch_mma_linear_tokens(job, launch);
  if (job.output_type == OutputType::kFloat16) {
    launch_vector<OutputType::kFloat16>(job, launch);
  } else {
    launch_vector<OutputType::kBfloat16>(job, launch);
  }
}

}  // namespace

Variant matmul_mma_linear() {
  Variant variant;
  variant.name = "mma_linear";
  variant.summary = "fused, up to 16 tokens; integer tensor cores, a line and residuals from prmt";
  variant.traits.launches = 2;
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.traits.mirrors = "the fastest for few tokens";
  variant.unsupported = unsupported;
  variant.workspace_bytes = workspace_bytes;
  variant.launch = launch_linear;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
