#pragma once

// Fills the slots of mma_ring: weights and tokens by cp.async, scales worked out by the threads.

#include "cuda/matmul/ring/ring_copies.cuh"
#include "cuda/matmul/ring/ring_scales.cuh"
#include "cuda/matmul/ring/ring_sync.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"

#include <type_traits>

namespace nf4bench::kernels::cuda {

template <class Shape, OutputType kType, ScaleTarget kTarget, class Walk>
class RingProducer {
 public:
  // By kProducers threads, counted by `thread`.
  __device__ __forceinline__ RingProducer(const Job& job, const Walk& walk, ScaleLayout layout,
                                          std::uint8_t* shared, int thread)
      : sync_(shared_address(shared)),
        weights_(job, thread),
        tokens_(job, thread),
        scales_(job, layout, reinterpret_cast<const float*>(shared + Shape::kMap), thread),
        shared_(shared),
        thread_(thread),
        walk_(walk) {
    const std::uint32_t ring = shared_address(shared) + Shape::kRing;
    weight_to_ = keep(ring + Weights::first_place(thread));
    token_to_ = keep(ring + Shape::kTokensAt + Tokens::first_place(thread));
    enter_tile();
  }

  __device__ __forceinline__ bool valid() const { return walk_.valid(); }

  // Fills the next slot.
  __device__ __forceinline__ void produce() {
    sync_.wait_until_empty(at_);
    const std::uint32_t slot = at_.slot * Shape::kSlotBytes;
    weights_.put(weight_to_ + slot);
    tokens_.put(token_to_ + slot);
    std::uint8_t* at = shared_ + Shape::kRing + slot;
    const bool in_range = scales_.store(at + Shape::kScalesAt, 1.0f / kPairFactor<kType>);
    if constexpr (kMayBeWide<kType, kTarget>) {
      const bool is_wide = __any_sync(0xffffffffu, !in_range);
      if (thread_ % 32 == 0) {
        reinterpret_cast<std::uint32_t*>(at + Shape::kWideAt)[thread_ / 32] = is_wide ? 1 : 0;
      }
    }
    sync_.fill(at_);
    at_.advance();
    advance();
  }

  // Until all copies have ended.
  __device__ __forceinline__ void finish() const {
    commit_copies();
    wait_for_copies<0>();
  }

 private:
  using Weights = std::conditional_t<Shape::kTransposed, TransposedCopies<Shape>, RowCopies<Shape>>;
  using Tokens = TokenCopies<Shape>;
  using Scales =
      std::conditional_t<Shape::kTransposed, TransposedScales<Shape, kType>, RingScales<Shape>>;

  __device__ __forceinline__ void advance() {
    walk_.advance();
    if (!valid()) return;
    if (walk_.begins_tile()) return enter_tile();
    weights_.advance();
    tokens_.advance();
    scales_.load(walk_, false);
  }

  __device__ __forceinline__ void enter_tile() {
    if (!valid()) return;
    weights_.enter_tile(walk_);
    tokens_.enter_tile(walk_);
    scales_.load(walk_, true);
  }

  RingSync<Shape> sync_;
  Weights weights_;
  Tokens tokens_;
  Scales scales_;
  std::uint8_t* shared_;
  int thread_;
  Walk walk_;
  typename RingSync<Shape>::Slot at_;
  std::uint32_t weight_to_;  // where this thread's first copies go, in the first slot
  std::uint32_t token_to_;
};

}  // namespace nf4bench::kernels::cuda
