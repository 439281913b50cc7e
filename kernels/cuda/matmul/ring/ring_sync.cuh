#pragma once

// How the producers and the consumers of mma_ring's slots wait for each other: at barriers in
// shared memory, which know of copies that are under way; on Turing, which has neither, at named
// barriers.

#include "cuda/matmul/ring/ring_shape.hpp"
#include "cuda/ptx.cuh"

namespace nf4bench::kernels::cuda {

// The named barriers of the block.
enum RingNamedBarrier {
  kRingSetUp = 0,      // all threads, once
  kRingConsumers = 1,  // all consumers, once: the table of pairs is filled
  // From Shape::kGroupBarrier on one a group.
};

// Which slot comes next, and how often all have been used: the parity of that, and whether at all.
template <int kSlots>
struct RingSlot {
  int slot = 0;
  std::uint32_t parity = 0;
  bool is_used = false;

  __device__ __forceinline__ void advance() {
    if (++slot == kSlots) {
      slot = 0;
      parity ^= 1;
      is_used = true;
    }
  }
};

template <class Shape>
class RingSync {
 public:
  using Slot = RingSlot<Shape::kStages>;

#if __CUDA_ARCH__ >= 800
  __device__ __forceinline__ explicit RingSync(std::uint32_t shared)
      : full_(shared + Shape::kBarriers), empty_(full_ + 8 * Shape::kStages) {}

  // By one thread, before all others use them.
  __device__ __forceinline__ void init() const {
    for (int slot = 0; slot < Shape::kStages; ++slot) {
      // Each producer's copies, and each of their warps for what it has stored.
      init_barrier(full_ + 8 * slot, Shape::kProducers + Shape::kProducers / 32);
      init_barrier(empty_ + 8 * slot, Shape::kConsumerWarps);
    }
  }

  __device__ __forceinline__ void wait_until_empty(const Slot& at) const {
    wait_for_phase(empty_ + 8 * at.slot, at.parity ^ 1);
  }

  // What this thread has begun to copy and its warp has stored is part of the slot.
  __device__ __forceinline__ void fill(const Slot& at) const {
    arrive_with_copies(full_ + 8 * at.slot);
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(full_ + 8 * at.slot);
  }

  __device__ __forceinline__ void wait_until_full(const Slot& at) const {
    wait_for_phase(full_ + 8 * at.slot, at.parity);
  }

  // This warp has read all of it.
  __device__ __forceinline__ void leave(const Slot& at) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(empty_ + 8 * at.slot);
  }

 private:
  std::uint32_t full_;
  std::uint32_t empty_;
#else
  static_assert(Shape::kProducerWarps > 0 &&
                Shape::kGroupBarrier + Shape::kGroups + 2 * Shape::kStages <= 16);

  __device__ __forceinline__ explicit RingSync(std::uint32_t) {}
  __device__ __forceinline__ void init() const {}

  __device__ __forceinline__ void wait_until_empty(const Slot& at) const {
    if (at.is_used) sync_at<Shape::kThreads>(kEmpty + at.slot);
  }
  __device__ __forceinline__ void fill(const Slot& at) const {
    arrive_at<Shape::kThreads>(kFull + at.slot);
  }
  __device__ __forceinline__ void wait_until_full(const Slot& at) const {
    sync_at<Shape::kThreads>(kFull + at.slot);
  }
  __device__ __forceinline__ void leave(const Slot& at) const {
    arrive_at<Shape::kThreads>(kEmpty + at.slot);
  }

 private:
  static constexpr int kFull = Shape::kGroupBarrier + Shape::kGroups;
  static constexpr int kEmpty = kFull + Shape::kStages;
#endif
};

}  // namespace nf4bench::kernels::cuda
