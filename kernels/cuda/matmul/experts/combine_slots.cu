// A thread has four outputs of a token, or of a slot.

#include "cuda/arithmetic.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/experts/combine_slots.hpp"
#include "routing.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kCombineThreads = 256;
constexpr int kLoadsAtOnce = 8;

// Of four values the first `count`, or all together where all rows begin at 16 bytes.
__device__ __forceinline__ float4 load_parts(const float* from, int count, bool together) {
  if (together) return *reinterpret_cast<const float4*>(from);
  return {from[0], count > 1 ? from[1] : 0.0f, count > 2 ? from[2] : 0.0f,
          count > 3 ? from[3] : 0.0f};
}

template <OutputType kType>
__global__ void __launch_bounds__(kCombineThreads)
    combine_slots(const __grid_constant__ Job job, const float* sums, unsigned parts,
                  unsigned token_blocks) {
  allow_next_kernel();
  wait_for_previous_kernel();
  const std::int64_t token = blockIdx.x / token_blocks;
  const std::int64_t n =
      std::int64_t{blockIdx.x % token_blocks * kCombineThreads + threadIdx.x} * 4;
  if (n >= job.outputs) return;
  const auto count = static_cast<int>(min(job.outputs - n, std::int64_t{4}));
  std::int64_t sorted = 0;  // slots that have an expert, where ids are the ends of theirs
  for (std::int64_t i = 0; job.group.ends && i < job.group.experts; ++i) {
    sorted = max(sorted, id_at(job, i));
  }
  float total[4] = {};
  const std::int64_t added = (job.group.sums_slots ? job.group.top_k : 1) * parts;
  const float* from = sums + token * added * job.outputs + n;
  for (std::int64_t first = token * added, end = first + added; first < end;
       first += kLoadsAtOnce) {
    // All are asked for at once, also what a slot without an expert has left.
    float4 loaded[kLoadsAtOnce];
    bool is_one[kLoadsAtOnce];
#pragma unroll
    for (int i = 0; i < kLoadsAtOnce; ++i) {
      is_one[i] = first + i < end;
      if (!is_one[i]) continue;
      loaded[i] = load_parts(from, count, job.outputs % 4 == 0);
      from += job.outputs;
      const std::int64_t slot = parts == 1 ? first + i : static_cast<unsigned>(first + i) / parts;
      is_one[i] = job.group.ends ? slot < sorted : chosen_expert(job, slot) >= 0;
    }
#pragma unroll
    for (int i = 0; i < kLoadsAtOnce; ++i) {
      if (!is_one[i]) continue;
      total[0] = __fadd_rn(total[0], loaded[i].x);
      total[1] = __fadd_rn(total[1], loaded[i].y);
      total[2] = __fadd_rn(total[2], loaded[i].z);
      total[3] = __fadd_rn(total[3], loaded[i].w);
    }
  }
  auto* to = static_cast<std::uint16_t*>(job.output) + token * job.outputs + n;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (c < count) to[c] = round_to<kType>(total[c]);
  }
}

}  // namespace

void launch_combine_slots(const Job& job, const Launch& launch, const float* sums, int parts) {
  const unsigned token_blocks = grid_size(job.outputs, kCombineThreads * 4);
  const std::int64_t rows = job.group.sums_slots ? job.tokens : slots_of(job);
  const auto grid = static_cast<unsigned>(rows) * token_blocks;
  dispatch_16_bit(job, [&](auto type) {
    launch_dependent(launch, grid, kCombineThreads, combine_slots<decltype(type)::value>, job, sums,
                     static_cast<unsigned>(parts), token_blocks);
  });
}

}  // namespace nf4bench::kernels::cuda
