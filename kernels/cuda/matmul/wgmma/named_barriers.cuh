#pragma once

// The named barriers of wgmma_decode.

#include "cuda/ptx.cuh"

namespace nf4bench::kernels::cuda {

// Who syncs at each, and who only arrives.
enum NamedBarrier {
  // All threads, once: the warp that copies weights arrives, when it has initialized the rings.
  kSetUpBarrier = 0,
  // A consumer warpgroup each: the first's, and the others' behind it.
  kWarpgroupBarrier = 1,
  // All consumers, once: the table of pairs is filled.
  kConsumersBarrier = 7,
  // The warps that produce scales, once: the nested map is loaded.
  kScalesBarrier = 8,
  // The warp that copies activations, once: all consumers arrive, when they have regrouped theirs.
  kRegroupedBarrier = 9,
};

// Until all threads of this warpgroup are here.
__device__ __forceinline__ void meet_warpgroup() {
  sync_at<128>(kWarpgroupBarrier + static_cast<int>(threadIdx.x / 128));
}

}  // namespace nf4bench::kernels::cuda
