#pragma once

// A product by integer tensor cores, whatever `Codebook` makes packed weights integers
// (line_and_residual.cuh). Activations become 16-bit integers, two bytes each, so
// that sums over a block of the weight are exact; only scales and sums over blocks are float32.

#include "cuda/matmul/linear/integer_tokens.cuh"
#include "cuda/matmul/linear/integer_vector.cuh"
#include "cuda/matmul/schedule/unit_plan.hpp"

namespace nf4bench::kernels::cuda {

template <class Codebook>
PlannedUnits plan_vector(const Problem& problem, const DeviceFacts& device) {
  const int boxes = count_of(problem.inputs, kBoxColumns);
  return plan_units(problem, device, {1, 4, 100},
                    [&](int, int units) { return VectorLayout<Codebook>(boxes, units).bytes; });
}

template <class Codebook, OutputType kType>
void launch_vector(const Job& job, const Launch& launch) {
  constexpr typename Codebook::Tables kTables = Codebook::make_tables();
  const PlannedUnits planned = plan_vector<Codebook>(job, launch.device);
  with_unit_kind(job, planned.unit_boxes, [&](auto kind, auto boxes) {
    launch_grid(launch, planned.grid,
                integer_vector<Codebook, kType, decltype(kind)::value, decltype(boxes)::value>,
                weight_map(job, launch.device, kBoxRows), job, planned.plan, kTables);
  });
}

template <class Codebook>
PlannedUnits plan_tokens(const Problem& problem, const DeviceFacts& device) {
  return plan_units(problem, device, {16, 4, 25}, [](int slice_boxes, int slice_units) {
    return TokensLayout<Codebook>(slice_boxes, slice_units).bytes;
  });
}

template <class Codebook, OutputType kType>
void launch_tokens(const Job& job, const Launch& launch) {
  constexpr typename Codebook::Tables kTables = Codebook::make_tables();
  const PlannedUnits planned = plan_tokens<Codebook>(job, launch.device);
  with_unit_kind(job, planned.unit_boxes, [&](auto kind, auto boxes) {
    launch_grid(launch, planned.grid,
                integer_tokens<Codebook, kType, decltype(kind)::value, decltype(boxes)::value>,
                weight_map(job, launch.device, kBoxRows), job, planned.plan, kTables);
  });
}

// Beyond it to quantize all tokens in each block takes too long (H200).
inline constexpr std::int64_t kMostTokensInputs = 12288;

inline constexpr std::int64_t kMostInputs = std::int64_t{1} << 20;
inline constexpr const char* kTooManyInputs = "has more inputs than fit into shared memory";

template <class Codebook>
const char* why_no_integers(const Problem& problem, const DeviceFacts& device) {
  if (device.compute_capability < 80) return "needs integer tensor cores of compute capability 8.0";
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (problem.inputs % 64 != 0) return "needs a multiple of 64 inputs";
  if (problem.block_shift < 6) return "needs a blocksize of 64 or more";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  // No plan has to count so many.
  if (problem.inputs > kMostInputs) return kTooManyInputs;
  if (problem.tokens > kMostTokens) return "multiplies up to 4 tokens";
  if (problem.tokens > 1 && problem.inputs > kMostTokensInputs) {
    return "multiplies more than one token with up to 12288 inputs only";
  }
  const PlannedUnits planned = problem.tokens > 1 ? plan_tokens<Codebook>(problem, device)
                                                  : plan_vector<Codebook>(problem, device);
  return planned.grid.shared_bytes > shared_bytes_a_block(device) ? kTooManyInputs : nullptr;
}

template <class Codebook, OutputType kType>
void launch_integers(const Job& job, const Launch& launch) {
  if (job.tokens > 1) return launch_tokens<Codebook, kType>(job, launch);
  launch_vector<Codebook, kType>(job, launch);
}

// A variant that has yet to be named.
template <class Codebook>
Variant integer_variant() {
  Variant variant;
  variant.traits.launches = 1;
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.unsupported = why_no_integers<Codebook>;
  variant.launch = [](const Job& job, const Launch& launch) {
    if (job.output_type == OutputType::kFloat16) {
      launch_integers<Codebook, OutputType::kFloat16>(job, launch);
    } else {
      launch_integers<Codebook, OutputType::kBfloat16>(job, launch);
    }
  };
  return variant;
}

}  // namespace nf4bench::kernels::cuda
