// Fused; integer tensor cores, which take the codes themselves as one operand and what is left of
// the codebook beside a line as another (line_and_residual.cuh). Activations become 16-bit
// integers, two bytes each, so that sums over a block of the weight are exact; only scales and sums
// over blocks are float32.

#include "cuda/matmul/linear/integer_tokens.cuh"
#include "cuda/matmul/linear/integer_vector.cuh"
#include "cuda/matmul/schedule/unit_plan.hpp"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr LineAndResidual::Tables kTables = LineAndResidual::make_tables();

PlannedUnits plan_vector(const Problem& problem, const DeviceFacts& device) {
  const int boxes = count_of(problem.inputs, kBoxColumns);
  return plan_units(problem, device, {1, 4, 100},
                    [&](int, int units) { return VectorLayout(boxes, units).bytes; });
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

PlannedUnits plan_tokens(const Problem& problem, const DeviceFacts& device) {
  return plan_units(problem, device, {16, 4, 25}, [](int slice_boxes, int slice_units) {
    return TokensLayout(slice_boxes, slice_units).bytes;
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

constexpr std::int64_t kMostInputs = std::int64_t{1} << 20;  // no plan has to count more
// Of more than one token: beyond it to quantize all of them in each block takes too long (H200).
constexpr std::int64_t kMostTokensInputs = 12288;
constexpr const char* kTooManyInputs = "has more inputs than fit into shared memory";

const char* unsupported(const Problem& problem, const DeviceFacts& device) {
  if (device.compute_capability < 80) return "needs integer tensor cores of compute capability 8.0";
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (problem.inputs % 64 != 0) return "needs a multiple of 64 inputs";
  if (problem.block_shift < 6) return "needs a blocksize of 64 or more";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  if (problem.inputs > kMostInputs) return kTooManyInputs;
  if (problem.tokens > kMostIntegerTokens) return "multiplies up to 4 tokens";
  if (problem.tokens > 1 && problem.inputs > kMostTokensInputs) {
    return "multiplies more than one token with up to 12,288 inputs only";
  }
  const PlannedUnits planned =
      problem.tokens > 1 ? plan_tokens(problem, device) : plan_vector(problem, device);
  return planned.grid.shared_bytes > shared_bytes_a_block(device) ? kTooManyInputs : nullptr;
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
  variant.unsupported = unsupported;
  variant.launch = launch_linear;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
