#pragma once

// The named barriers of wgmma_decode.

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

}  // namespace nf4bench::kernels::cuda
