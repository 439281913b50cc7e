// mma_linear for 2 to 16 tokens.

#include "cuda/matmul/linear/mma_linear_tokens.cuh"
#include "cuda/matmul/linear/mma_linear_tokens.hpp"
#include "cuda/matmul/linear/unit_plan.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kMostTokens = 16;

// Calls use(integral_constant: fours of tokens, 1, 2 or 4).
template <class Function>
auto with_fours(const Problem& problem, Function use) {
  if (problem.tokens <= 4) return use(std::integral_constant<int, 1>{});
  if (problem.tokens <= 8) return use(std::integral_constant<int, 2>{});
  return use(std::integral_constant<int, 4>{});
}

template <int kFours>
PlannedUnits plan_tokens(const Problem& problem, const DeviceFacts& device) {
  constexpr int kMostUnitBoxes = kFours == 4 ? 1 : 4;
  return plan_units(problem, device, {16, kMostUnitBoxes, 25},
                    [](int slice_boxes, int slice_units) {
                      return TokensLayout<kFours>(slice_boxes, slice_units).bytes;
                    });
}

template <OutputType kType, int kFours, bool kOwnImage>
void launch_tokens(const Job& job, const Launch& launch) {
  constexpr ResidualTable kResiduals = make_residual_table();
  const PlannedUnits planned = plan_tokens<kFours>(job, launch.device);
  if constexpr (!kOwnImage) {
    const Grid quantizing = {
        static_cast<unsigned>(count_of(std::int64_t{planned.plan.boxes} * 32 * kFours * 4, 256)),
        256, 0};
    launch_grid(launch, quantizing, quantize_tokens<kType, kFours>, job, planned.plan.boxes);
  }
  with_unit_kind(job, planned.unit_boxes, [&](auto kind, auto boxes) {
    // More boxes a unit would not leave enough registers for the sums of 16 tokens.
    constexpr int kBoxes = kFours == 4 ? 1 : decltype(boxes)::value;
    if constexpr (kBoxes == decltype(boxes)::value) {
      launch_grid(launch, planned.grid,
                  mma_linear_tokens<kType, decltype(kind)::value, kFours, kBoxes, kOwnImage>,
                  weight_map(job, launch.device, kBoxRows), job, planned.plan, kResiduals);
    }
  });
}

// Up to how many inputs four tokens are quantized by every block faster than by a kernel (H200).
constexpr std::int64_t kOwnImageInputs = 4096;

template <OutputType kType, int kFours>
void launch_typed(const Job& job, const Launch& launch) {
  if constexpr (kFours == 1) {
    if (job.inputs <= kOwnImageInputs) return launch_tokens<kType, kFours, true>(job, launch);
  }
  launch_tokens<kType, kFours, false>(job, launch);
}

}  // namespace

const char* mma_linear_tokens_unsupported(const Problem& problem, const DeviceFacts& device) {
  if (problem.tokens > kMostTokens) return "multiplies up to 16 tokens";
  const std::size_t bytes = with_fours(problem, [&](auto fours) {
    return plan_tokens<decltype(fours)::value>(problem, device).grid.shared_bytes;
  });
  if (bytes > shared_bytes_a_block(device)) return "needs more shared memory";
  return nullptr;
}

std::size_t mma_linear_tokens_workspace(const Problem& problem) {
  return with_fours(problem, [&](auto fours) {
    return static_cast<std::size_t>(count_of(problem.inputs, kBoxColumns)) *
           BoxImage<decltype(fours)::value>::kBytes;
  });
}

void launch_mma_linear_tokens(const Job& job, const Launch& launch) {
  with_fours(job, [&](auto fours) {
    constexpr int kFours = decltype(fours)::value;
    if (job.output_type == OutputType::kFloat16) {
      launch_typed<OutputType::kFloat16, kFours>(job, launch);
    } else {
      launch_typed<OutputType::kBfloat16, kFours>(job, launch);
    }
  });
}

}  // namespace nf4bench::kernels::cuda
