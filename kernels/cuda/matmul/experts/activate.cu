// A thread has eight outputs of a row, or one where these do not lie together in 16 bytes.

#include "activation.hpp"
#include "cuda/arithmetic.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/activations.cuh"
#include "cuda/matmul/experts/activate.hpp"
#include "cuda/matmul/pair_table.cuh"

#include <cstdint>

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kEight = 8;

template <OutputType kType>
__device__ __forceinline__ float read_value(const void* values, std::int64_t index) {
  if constexpr (kType == OutputType::kFloat32) {
    return static_cast<const float*>(values)[index];
  } else {
    return widen<kType>(static_cast<const std::uint16_t*>(values)[index]).x;
  }
}

template <OutputType kType>
__global__ void __launch_bounds__(kThreads) activate_rows(const __grid_constant__ Activation of) {
  allow_next_kernel();
  wait_for_previous_kernel();
  const std::int64_t index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= of.rows * of.columns) return;
  const std::int64_t at = gate_at(of, index);
  const float gate = read_value<kType>(of.input, at);
  const float up = of.gated ? read_value<kType>(of.input, at + up_step(of)) : 1.0f;
  using Bits = decltype(round_to<kType>(0.0f));
  static_cast<Bits*>(of.output)[index] = round_to<kType>(activate(of, gate, up));
}

template <OutputType kType>
__global__ void __launch_bounds__(kThreads) activate_eights(const __grid_constant__ Activation of) {
  allow_next_kernel();
  wait_for_previous_kernel();
  const std::int64_t index = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kEight;
  if (index >= of.rows * of.columns) return;
  const ActivationFunction activate(of);
  const auto value_of = [&](float gate, float up) {
    return of.kind == ActivationKind::kRelu2 ? activate(gate, up) : activate.fast(gate, up);
  };
  const auto* from = static_cast<const std::uint16_t*>(of.input) + gate_at(of, index);
  const auto load = [](const std::uint16_t* at) { return *reinterpret_cast<const uint4*>(at); };
  const uint4 first = load(from);
  uint4 second = {};
  if (of.gated) second = load(from + (of.interleaved ? kEight : of.columns));
  const std::uint32_t words[kEight] = {first.x,  first.y,  first.z,  first.w,
                                       second.x, second.y, second.z, second.w};
  std::uint32_t pairs[kEight / 2];
#pragma unroll
  for (int i = 0; i < kEight / 2; ++i) {
    float2 gates = widen<kType>(words[i]);
    float2 ups = of.gated ? widen<kType>(words[kEight / 2 + i]) : make_float2(1.0f, 1.0f);
    if (of.gated && of.interleaved) {
      const float2 even = widen<kType>(words[2 * i]);
      const float2 odd = widen<kType>(words[2 * i + 1]);
      gates = {even.x, odd.x};
      ups = {even.y, odd.y};
    }
    pairs[i] = pack_pair<kType>(value_of(gates.x, ups.x), value_of(gates.y, ups.y));
  }
  *reinterpret_cast<uint4*>(static_cast<std::uint16_t*>(of.output) + index) =
      make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

bool has_eights(const Activation& of) {
  const auto is_aligned = [](const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % 16 == 0;
  };
  return of.columns % kEight == 0 && is_aligned(of.input) && is_aligned(of.output);
}

template <OutputType kType>
void launch_eights(const Activation& of, const Launch& launch) {
  launch_dependent(launch, grid_size(of.rows * of.columns, kThreads * kEight), kThreads,
                   activate_eights<kType>, of);
}

}  // namespace

void launch_activation(const Activation& of, const Launch& launch) {
  if (of.type != OutputType::kFloat32 && has_eights(of)) {
    return of.type == OutputType::kFloat16 ? launch_eights<OutputType::kFloat16>(of, launch)
                                           : launch_eights<OutputType::kBfloat16>(of, launch);
  }
  const unsigned grid = grid_size(of.rows * of.columns, kThreads);
  switch (of.type) {
    case OutputType::kFloat16:
      return launch_dependent(launch, grid, kThreads, activate_rows<OutputType::kFloat16>, of);
    case OutputType::kBfloat16:
      return launch_dependent(launch, grid, kThreads, activate_rows<OutputType::kBfloat16>, of);
    case OutputType::kFloat32:
      return launch_dependent(launch, grid, kThreads, activate_rows<OutputType::kFloat32>, of);
  }
}

}  // namespace nf4bench::kernels::cuda
