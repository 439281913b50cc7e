// Sorts the slots of a grouped product by expert, in one launch: each block counts all of them, and
// places and gathers its share, a contiguous run.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/experts/expert_tiles.cuh"
#include "cuda/matmul/experts/route_slots.hpp"

#include <algorithm>

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kRouteThreads = 1024;
constexpr int kRunSlots = 1024;  // that a block places at a time
constexpr int kMostRouteBlocks = 132;

struct RouteShared {
  int all[kMostExperts + 1];  // slots of an expert, then where they begin
  int tiles[kMostExperts + 1];
  int next[kMostExperts];  // where the block's next one of an expert goes, from its begin on
  alignas(16) short experts[kRunSlots];
  int places[kRunSlots];
};

// Counts the slots of each expert, and of these those before `first`.
__device__ void count_slots(const Job& job, RouteShared& shared, int slots, int first) {
  const auto experts = static_cast<int>(job.group.experts);
  for (int i = threadIdx.x; i < experts; i += kRouteThreads) shared.all[i] = shared.next[i] = 0;
  __syncthreads();
  if (job.group.ends) {
    if (threadIdx.x < 32) count_by_ends(job, {shared.all, shared.tiles}, slots);
  } else {
    constexpr int kBatch = 8;  // loads under way at once
    for (int begin = threadIdx.x; begin < slots; begin += kBatch * kRouteThreads) {
      int experts_of[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int slot = begin + i * kRouteThreads;
        experts_of[i] = slot < slots ? chosen_expert(job, slot) : -1;
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (experts_of[i] < 0) continue;
        int* const counts = begin + i * kRouteThreads < first ? shared.next : shared.all;
        atomicAdd(&counts[experts_of[i]], 1);
      }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < experts; i += kRouteThreads) shared.all[i] += shared.next[i];
  }
  __syncthreads();
}

// Where each of a run of slots goes; -1: nowhere.
__device__ void place_run(const Job& job, RouteShared& shared, const RoutedRows& target, int first,
                          int count) {
  const int i = static_cast<int>(threadIdx.x);
  const bool is_one = i < count;
  int place = -1;
  if (job.group.ends) {
    if (is_one && first + i < shared.all[job.group.experts]) place = first + i;
  } else {
    const int expert = is_one ? chosen_expert(job, first + i) : -1;
    shared.experts[i] = static_cast<short>(expert);
    __syncthreads();
    if (expert >= 0) {
      place = shared.all[expert] + shared.next[expert];
      int k = 0;
      for (; k + 8 <= i; k += 8) {
        const uint4 eight = *reinterpret_cast<const uint4*>(shared.experts + k);
        const unsigned pairs[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
        for (const unsigned pair : pairs) {
          place += (pair & 0xffff) == static_cast<unsigned>(expert) ? 1 : 0;
          place += pair >> 16 == static_cast<unsigned>(expert) ? 1 : 0;
        }
      }
      for (; k < i; ++k) place += shared.experts[k] == expert ? 1 : 0;
    }
    __syncthreads();
    if (expert >= 0) atomicAdd(&shared.next[expert], 1);
  }
  if (is_one) shared.places[i] = place;
  if (place >= 0) target.order[place] = first + i;
  __syncthreads();
}

// By a warp.
__device__ void gather_row(const Job& job, const RoutedRows& target, int slot, int place,
                           RoutedInput copies) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto* from =
      static_cast<const std::uint8_t*>(job.input) + input_row(job, slot) * job.inputs * 2;
  std::uint8_t* to = target.input + std::int64_t{place} * job.inputs * 2;
  const auto chunks = static_cast<int>(job.inputs / 8);
  constexpr int kBatch = 8;  // loads under way at once
  for (int first = lane; first < chunks; first += kBatch * 32) {
    uint4 values[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int chunk = first + i * 32;
      if (chunk >= chunks) continue;
      if (copies == RoutedInput::kSorted) {
        values[i] = __ldg(reinterpret_cast<const uint4*>(from) + chunk);
      } else {
        const auto* pairs =
            reinterpret_cast<const std::uint32_t*>(from) + chunk / 8 * 32 + chunk % 8;
        values[i] =
            make_uint4(__ldg(pairs), __ldg(pairs + 8), __ldg(pairs + 16), __ldg(pairs + 24));
      }
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int chunk = first + i * 32;
      if (chunk < chunks) reinterpret_cast<uint4*>(to)[chunk] = values[i];
    }
  }
}

// A slot without an expert. By a warp.
__device__ void clear_outputs(const Job& job, int slot) {
  if (job.group.sums_slots) return;
  const std::int64_t columns = output_columns(job);
  auto* output = static_cast<std::uint16_t*>(job.output) + slot * columns;
  for (std::int64_t n = threadIdx.x % 32; n < columns; n += 32) output[n] = 0;
}

__global__ void __launch_bounds__(kRouteThreads)
    route_slots(const __grid_constant__ Job job, const RoutedRows target, int tile_slots,
                RoutedInput copies) {
  __shared__ RouteShared shared;
  allow_next_kernel();
  wait_for_previous_kernel();
  const auto slots = static_cast<int>(job.tokens * job.group.top_k);
  const auto experts = static_cast<int>(job.group.experts);
  const int share = (slots + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x);
  const int first = min(slots, static_cast<int>(blockIdx.x) * share);
  const int last = min(slots, first + share);
  count_slots(job, shared, slots, first);
  if (threadIdx.x < 32) begin_experts({shared.all, shared.tiles}, experts, tile_slots);
  __syncthreads();
  if (blockIdx.x == 0) {
    for (int i = threadIdx.x; i <= experts; i += kRouteThreads) {
      target.rows[i] = shared.all[i];
      target.tiles[i] = shared.tiles[i];
    }
  }
  for (int run = first; run < last; run += kRunSlots) {
    const int count = min(kRunSlots, last - run);
    place_run(job, shared, target, run, count);
    for (int i = static_cast<int>(threadIdx.x) / 32; i < count; i += kRouteThreads / 32) {
      if (shared.places[i] < 0) {
        clear_outputs(job, run + i);
      } else if (copies != RoutedInput::kLeft) {
        gather_row(job, target, run + i, shared.places[i], copies);
      }
    }
    __syncthreads();
  }
#if __CUDA_ARCH__ >= 900
  // The copy engine reads them next.
  asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
}

}  // namespace

RoutedRows launch_route_slots(const Job& job, const Launch& launch, int tile_slots,
                              RoutedInput copies) {
  const RoutedWorkspace parts(job, copies);
  auto* workspace = static_cast<std::uint8_t*>(job.workspace);
  const RoutedRows target = {
      reinterpret_cast<int*>(workspace), reinterpret_cast<int*>(workspace + parts.tiles),
      reinterpret_cast<int*>(workspace + parts.order), workspace + parts.input};
  const std::int64_t blocks = std::min<std::int64_t>(
      block_count(slots_of(job), kRouteThreads / 32),
      std::min(kMostRouteBlocks, std::max(1, launch.device.multiprocessors)));
  launch_dependent(launch, static_cast<unsigned>(blocks), kRouteThreads, route_slots, job, target,
                   tile_slots, copies);
  return target;
}

}  // namespace nf4bench::kernels::cuda
