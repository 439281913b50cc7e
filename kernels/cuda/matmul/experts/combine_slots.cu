// A thread has four outputs of a token.

#include "cuda/arithmetic.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/experts/combine_slots.hpp"
#include "routing.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kCombineThreads = 256;
constexpr int kSlotsAtOnce = 8;

// Of four values the first `count`, or all together where it is 0.
__device__ __forceinline__ void load_parts(float (&parts)[4], const float* from, int count) {
  if (count == 0) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    parts[0] = four.x, parts[1] = four.y, parts[2] = four.z, parts[3] = four.w;
    return;
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) parts[c] = c < count ? from[c] : 0.0f;
}

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
  const float* from = sums + token * job.group.top_k * job.outputs + n;
  for (std::int64_t first = token * job.group.top_k, end = first + job.group.top_k; first < end;
       first += kSlotsAtOnce) {
    // All are asked for at once, also what a slot without an expert has left.
    float parts[kSlotsAtOnce][4];
    bool is_one[kSlotsAtOnce];
#pragma unroll
    for (int i = 0; i < kSlotsAtOnce; ++i) {
      is_one[i] = first + i < end;
      if (!is_one[i]) continue;
      load_parts(parts[i], from, job.outputs % 4 == 0 ? 0 : count);
      from += job.outputs;
      is_one[i] = expert_of(job, first + i) >= 0;
    }
#pragma unroll
    for (int i = 0; i < kSlotsAtOnce; ++i) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (is_one[i]) total[c] = __fadd_rn(total[c], parts[i][c]);
      }
    }
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
