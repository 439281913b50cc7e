// A thread has four outputs of a token.

#include "cuda/arithmetic.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/experts/combine_slots.hpp"
#include "routing.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kCombineThreads = 256;

template <OutputType kType>
__global__ void __launch_bounds__(kCombineThreads)
    combine_slots(const __grid_constant__ Job job, const float* sums) {
  allow_next_kernel();
  wait_for_previous_kernel();
  const std::int64_t columns = (job.outputs + 3) / 4;
  const std::int64_t index = std::int64_t{blockIdx.x} * kCombineThreads + threadIdx.x;
  if (index >= job.tokens * columns) return;
  const std::int64_t token = index / columns;
  const std::int64_t n = index % columns * 4;
  const auto count = static_cast<int>(min(job.outputs - n, std::int64_t{4}));
  float total[4] = {};
  for (std::int64_t i = 0; i < job.group.top_k; ++i) {
    const std::int64_t slot = token * job.group.top_k + i;
    if (expert_of(job, slot) < 0) continue;
    const float* from = sums + slot * job.outputs + n;
    float four[4] = {};
    if (job.outputs % 4 == 0) {
      *reinterpret_cast<float4*>(four) = *reinterpret_cast<const float4*>(from);
    } else {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (c < count) four[c] = from[c];
      }
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) total[c] = __fadd_rn(total[c], four[c]);
  }
  auto* to = static_cast<std::uint16_t*>(job.output) + token * job.outputs + n;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (c < count) to[c] = round_to<kType>(total[c]);
  }
}

}  // namespace

void launch_combine_slots(const Job& job, const Launch& launch, const float* sums) {
  const unsigned grid = grid_size(job.tokens * ((job.outputs + 3) / 4), kCombineThreads);
  if (job.output_type == OutputType::kFloat16) {
    launch_dependent(launch, grid, kCombineThreads, combine_slots<OutputType::kFloat16>, job, sums);
  } else {
    launch_dependent(launch, grid, kCombineThreads, combine_slots<OutputType::kBfloat16>, job,
                     sums);
  }
}

}  // namespace nf4bench::kernels::cuda
