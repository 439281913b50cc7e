// A thread has an output.

#include "activation.hpp"
#include "cuda/arithmetic.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/activations.cuh"
#include "cuda/matmul/experts/activate.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kThreads = 256;

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

}  // namespace

void launch_activation(const Activation& of, const Launch& launch) {
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
