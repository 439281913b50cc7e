#pragma once

// A counter in a workspace that nobody clears before a launch.

#include "cuda/ptx.cuh"

namespace nf4bench::kernels::cuda {

// Counts blocks that have left something for each other, and those that have seen that all had. It
// counts only once somebody has claimed it: kClaimed in the upper bits, then both counts. The last
// of those who see leaves zero. All of it by one thread of each.
class ClaimedCounter {
 public:
  __device__ __forceinline__ explicit ClaimedCounter(unsigned long long* at) : at_(at) {}

  // As it is. To be asked for long before claim(), which it saves a round trip; it is no acquire,
  // for which everybody would wait.
  __device__ __forceinline__ unsigned long long look() const { return load_relaxed(at_); }

  // Fails if another block has claimed it since look(); what is added later comes after either.
  __device__ __forceinline__ void claim(unsigned long long seen) const {
    if ((seen & ~kCounts) != kClaimed) atomicCAS(at_, seen, kClaimed);
  }

  // What this block has written before is there for those who wait.
  __device__ __forceinline__ void leave() const { increment_release(at_); }

  __device__ __forceinline__ bool have_left(int blocks) const {
    return static_cast<int>(load_acquire(at_) % kHasSeen) >= blocks;
  }

  // Until so many have left.
  __device__ __forceinline__ void wait(int blocks) const {
#pragma unroll 1
    while (!have_left(blocks)) {
    }
  }

  // So many are going to. It takes as long as any load.
  __device__ __forceinline__ void tell_seen(int blocks) const {
    const unsigned long long before = atomicAdd(at_, kHasSeen);
    if (static_cast<int>((before & kCounts) / kHasSeen) == blocks - 1) *at_ = 0;
  }

 private:
  static constexpr unsigned long long kClaimed = 0x6e66346d61746dull << 16;
  static constexpr unsigned long long kCounts = 0xffff;
  static constexpr unsigned long long kHasSeen = 0x100;

  unsigned long long* at_;
};

}  // namespace nf4bench::kernels::cuda
