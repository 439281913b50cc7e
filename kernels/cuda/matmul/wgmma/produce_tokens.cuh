#pragma once

// Brings the activations, as they are in memory or regrouped.
//
// Of each eight inputs lane t of a quad multiplies the t-th pair. As activations are in memory, the
// lane's weights are byte t of each word, so that it has to read all words. With the 8 x 4 pairs of
// 64 inputs transposed they are bytes 8t to 8t + 7. The copy engine moves no fewer than 16 bytes,
// so that it cannot transpose: each block writes a share to the workspace, and multiplies plain
// activations until all have.

#include "cuda/matmul/join/claimed_counter.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"
#include "cuda/matmul/wgmma/named_barriers.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"
#include "variant.hpp"

#include <limits>

namespace nf4bench::kernels::cuda {

inline constexpr int kAllStages = std::numeric_limits<int>::max();

// In the workspace, all tokens of a stage together, as they are to lie in shared memory.
struct RegroupedTokens {
  std::uint8_t* first = nullptr;
  unsigned long long* counter = nullptr;  // of the blocks that have written their share
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Regroups rows of 64 inputs of a token: this thread's `first`, and each `step`-th after it, with
// kBatch of them under way at once. Eight threads do one, 16 bytes each. By whole warps.
template <class Shape, int kBatch>
__device__ __forceinline__ void regroup_rows(const Job& job, const StagePlan& plan,
                                             const RegroupedTokens& regrouped, int first,
                                             int step) {
  constexpr int kTokens = Shape::kTokens;
  const auto inputs = static_cast<int>(job.inputs);
  const int piece = static_cast<int>(threadIdx.x % 8);
  const int count = plan.stages * 4 * kTokens;
#pragma unroll 1
  for (int begin = first; begin < count; begin += kBatch * step) {
    uint4 loaded[kBatch] = {};
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int index = begin + i * step;
      const int quarter = index / kTokens;
      const int token = index % kTokens;
      if (index >= count || token >= job.tokens || quarter * 64 >= inputs) continue;
      const std::uint32_t* pairs = static_cast<const std::uint32_t*>(job.input) +
                                   (std::int64_t{token} * inputs + quarter * 64) / 2 + piece;
      loaded[i] =
          make_uint4(__ldcg(pairs), __ldcg(pairs + 8), __ldcg(pairs + 16), __ldcg(pairs + 24));
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int index = begin + i * step;
      if (index >= count) continue;
      // Swizzled as the copy engine does.
      auto* row = reinterpret_cast<uint4*>(regrouped.first + std::int64_t{index} * kBoxBytes);
      row[piece ^ index % 8] = loaded[i];
    }
  }
  fence_global_proxies();
  __syncwarp();
}

// Regroups a block's share. By all consumers, which do not wait for it.
template <class Shape>
__device__ __forceinline__ void regroup_tokens(const Job& job, const StagePlan& plan,
                                               const RegroupedTokens& regrouped) {
  constexpr int kRows = Shape::kGroups * 16;  // at once
  const auto block = static_cast<int>(blockIdx.x);
  regroup_rows<Shape, 4>(job, plan, regrouped, block * kRows + static_cast<int>(threadIdx.x / 8),
                         static_cast<int>(gridDim.x) * kRows);
  arrive_at<kRegroupedBarrier, Shape::kGroups * 128 + 32>();
}

// Until the consumers of this block have.
template <class Shape>
__device__ __forceinline__ void wait_for_regrouped() {
  sync_at<kRegroupedBarrier, Shape::kGroups * 128 + 32>();
}

// Copies a block's activations. By one thread.
template <class Shape>
class TokenProducer {
 public:
  __device__ __forceinline__ TokenProducer(const StagePlan& plan, std::uint32_t shared)
      : plan_(plan), shared_(shared), rings_(shared), walk_(plan, blockIdx.x) {}

  // The next `stages` stages, as they are in memory.
  __device__ __forceinline__ void copy_plain(const CUtensorMap& map, int stages) {
    copy(stages, [&](int part, std::uint32_t target, std::uint32_t barrier) {
      const int token = walk_.place.tokens * Shape::kTokens;
      const int column = (walk_.stage * 4 + part * Shape::kSlotQuarters) * kQuarterInputs;
#pragma unroll
      for (int i = 0; i < Shape::kSlotQuarters; ++i) {
        copy_box(target + i * Shape::kQuarterBytes, {&map, column + i * kQuarterInputs, token},
                 barrier);
      }
    });
  }

  // All that are left, regrouped.
  __device__ __forceinline__ void copy_regrouped(const RegroupedTokens& tokens) {
    copy(kAllStages, [&](int part, std::uint32_t target, std::uint32_t barrier) {
      const std::int64_t slot = std::int64_t{walk_.stage} * (4 / Shape::kSlotQuarters) + part;
      copy_bulk(target, tokens.first + slot * Shape::kTokenSlotBytes, Shape::kTokenSlotBytes,
                barrier);
    });
  }

 private:
  // Calls copy_slot(part of the stage, target, barrier) for all slots.
  template <class CopySlot>
  __device__ __forceinline__ void copy(int stages, const CopySlot& copy_slot) {
#pragma unroll 1
    for (; stages > 0 && walk_.tile.valid(); walk_.advance(plan_), --stages) {
#pragma unroll 1
      for (int part = 0; part < 4 / Shape::kSlotQuarters; ++part) {
        wait_for_phase(rings_.tokens.empty(at_.slot), at_.parity ^ 1);
        const std::uint32_t barrier = rings_.tokens.full(at_.slot);
        arrive_expecting(barrier, Shape::kTokenSlotBytes);
        copy_slot(part, shared_ + Shape::kActivations + at_.slot * Shape::kTokenSlotBytes, barrier);
        at_.advance();
      }
    }
  }

  const StagePlan& plan_;
  std::uint32_t shared_;
  WgmmaRings<Shape> rings_;
  StageWalk walk_;
  RingPosition<Shape::kTokenSlots> at_;
};

// Until all blocks have left their shares. Fails if that takes too long: another kernel may hold
// the multiprocessors that some wait for, and wait for those of this block in turn.
__device__ __forceinline__ bool wait_for_others(const ClaimedCounter& counter, int blocks) {
#pragma unroll 1
  for (int i = 0; i < 256; ++i) {  // some 0.2 ms
    if (counter.have_left(blocks)) return true;
  }
  return false;
}

// Copies the activations of all stages: a block's first ones as they are, and where kRegroups all
// others regrouped, by a warp, else by one thread. A block that waits for the others in vain
// regroups everything itself: the bytes that they write as well, if they come to it.
template <class Shape, bool kRegroups>
__device__ __forceinline__ void produce_tokens(const CUtensorMap& plain, const Job& job,
                                               const RegroupedTokens& regrouped,
                                               const StagePlan& plan, std::uint32_t shared) {
  TokenProducer<Shape> producer(plan, shared);
  if constexpr (!kRegroups) {
    producer.copy_plain(plain, kAllStages);
  } else {
    const bool is_first = threadIdx.x % 32 == 0;
    const ClaimedCounter counter(regrouped.counter);
    unsigned long long seen = 0;
    if (is_first) {
      seen = counter.look();
      producer.copy_plain(plain, Shape::kPlainStages);
    }
    __syncwarp();
    wait_for_regrouped<Shape>();
    const auto blocks = static_cast<int>(gridDim.x);
    bool have_all_left = true;
    if (is_first) {
      counter.claim(seen);
      counter.leave();
      have_all_left = wait_for_others(counter, blocks);
    }
    if (__shfl_sync(0xffffffffu, have_all_left, 0) == 0) {
      regroup_rows<Shape, 1>(job, plan, regrouped, static_cast<int>(threadIdx.x % 32 / 8), 4);
    }
    if (!is_first) return;
    fence_global_proxies();
    producer.copy_regrouped(regrouped);
    counter.tell_seen(blocks);
  }
}

#endif

}  // namespace nf4bench::kernels::cuda
