#pragma once

// What tokens_product.hpp declares; a file that includes this instantiates it.

#include "cuda/matmul/linear/integer_tokens.cuh"
#include "cuda/matmul/linear/tokens_product.hpp"
#include "cuda/matmul/schedule/unit_plan.hpp"

namespace nf4bench::kernels::cuda {

// Calls use(integral_constant: fours of tokens, 1, 2 or 4).
template <class Function>
auto with_fours(const Problem& problem, Function use) {
  if (problem.tokens <= 4) return use(std::integral_constant<int, 1>{});
  if (problem.tokens <= 8) return use(std::integral_constant<int, 2>{});
  return use(std::integral_constant<int, 4>{});
}

// Boxes a unit; more would not leave enough registers for the sums of many tokens.
template <class Codebook, int kFours>
inline constexpr int kMostUnitBoxes = kFours == 4
                                          ? 1
                                          : (kFours == 2 ? Codebook::kMostUnitBoxesOfEight : 4);

template <class Codebook, int kFours>
PlannedUnits plan_tokens(const Problem& problem, const DeviceFacts& device) {
  return plan_units(problem, device, {16, kMostUnitBoxes<Codebook, kFours>, 25},
                    [](int slice_boxes, int slice_units) {
                      return TokensLayout<Codebook, kFours>(slice_boxes, slice_units).bytes;
                    });
}

template <class Codebook, OutputType kType, int kFours, bool kOwnImage>
void launch_tokens(const Job& job, const Launch& launch) {
  constexpr typename Codebook::Tables kTables = Codebook::make_tables();
  const PlannedUnits planned = plan_tokens<Codebook, kFours>(job, launch.device);
  if constexpr (!kOwnImage) {
    const Grid quantizing = {static_cast<unsigned>(planned.plan.boxes * kFours), 128, 0};
    launch_grid(launch, quantizing, quantize_tokens<Codebook, kType, kFours>, job);
  }
  with_unit_kind(job, planned.unit_boxes, [&](auto kind, auto boxes) {
    constexpr int kBoxes = decltype(boxes)::value;
    if constexpr (kBoxes <= kMostUnitBoxes<Codebook, kFours>) {
      launch_grid(launch, planned.grid,
                  integer_tokens<Codebook, kType, decltype(kind)::value, kFours, kBoxes, kOwnImage>,
                  weight_map(job, launch.device, kBoxRows), job, planned.plan, kTables);
    }
  });
}

template <class Codebook, OutputType kType, int kFours>
void launch_typed(const Job& job, const Launch& launch) {
  if constexpr (kFours == 1) {
    if (job.inputs <= kOwnImageInputs)
      return launch_tokens<Codebook, kType, kFours, true>(job, launch);
  }
  launch_tokens<Codebook, kType, kFours, false>(job, launch);
}

template <class Codebook>
const char* TokensProduct<Codebook>::unsupported(const Problem& problem,
                                                 const DeviceFacts& device) {
  if (problem.tokens > 16) return "multiplies up to 16 tokens";
  const std::size_t bytes = with_fours(problem, [&](auto fours) {
    return plan_tokens<Codebook, decltype(fours)::value>(problem, device).grid.shared_bytes;
  });
  if (bytes > shared_bytes_a_block(device)) return "needs more shared memory";
  return nullptr;
}

template <class Codebook>
std::size_t TokensProduct<Codebook>::workspace_bytes(const Problem& problem) {
  return with_fours(problem, [&](auto fours) {
    return static_cast<std::size_t>(count_of(problem.inputs, kBoxColumns)) *
           BoxImage<decltype(fours)::value>::kBytes;
  });
}

template <class Codebook>
void TokensProduct<Codebook>::launch(const Job& job, const Launch& launch) {
  with_fours(job, [&](auto fours) {
    constexpr int kFours = decltype(fours)::value;
    if (job.output_type == OutputType::kFloat16) {
      launch_typed<Codebook, OutputType::kFloat16, kFours>(job, launch);
    } else {
      launch_typed<Codebook, OutputType::kBfloat16, kFours>(job, launch);
    }
  });
}

}  // namespace nf4bench::kernels::cuda
