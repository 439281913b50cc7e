#pragma once

// A warp's own ring of weight boxes in shared memory: 16 rows x 256 weights each, which copies fill
// ahead of the warp that reads them. No other warp is ever waited for. The copies are those of the
// copy engine on compute capability 9 and 10; from 12 on they would spill registers.

#include "cuda/matmul/tensor_map.hpp"
#include "cuda/memory.cuh"
#include "cuda/ptx.cuh"
#include "cuda/ptx_hopper.cuh"

namespace nf4bench::kernels::cuda {

#if __CUDA_ARCH__ >= 800

// Where a box lies in the weight.
struct BoxPosition {
  int row;     // the first of 16
  int column;  // in boxes
  bool valid;  // else nothing is to be copied
};

// Fills are counted from 0; the n-th goes to slot n % kSlots, which the (n - kSlots)-th must have
// left. As many fills must have been made before the n-th wait as slots ahead: n + kSlots.
template <int kSlots>
class WeightRing {
 public:
  static constexpr int kBytes = kSlots * kBoxSize;  // of shared memory, aligned to 1024
  static constexpr int kBarrierBytes = kSlots * 8;

  __device__ __forceinline__ WeightRing(const CUtensorMap& map, const Job& job, std::uint32_t slots,
                                        std::uint32_t barriers)
      : map_(map), job_(job), slots_(slots), barriers_(barriers) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
    policy_ = evict_first_policy();
    if ((threadIdx.x & 31) == 0) {
#pragma unroll
      for (int i = 0; i < kSlots; ++i) init_barrier(barriers_ + 8 * i, 1);
      publish_barriers();
    }
    __syncwarp();
#endif
  }

  __device__ __forceinline__ void fill(unsigned n, BoxPosition position) {
    const unsigned slot = n % kSlots;
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
    if (position.valid && (threadIdx.x & 31) == 0) {
      arrive_expecting(barriers_ + 8 * slot, announced_);
      copy_box(slots_ + slot * kBoxSize, {&map_, position.column * kBoxBytes, position.row},
               barriers_ + 8 * slot, policy_);
    }
#else
    if (position.valid) copy_pieces(slots_ + slot * kBoxSize, position);
    commit_copies();
#endif
  }

  // Until the n-th fill has arrived.
  __device__ __forceinline__ void wait(unsigned n) const {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
    wait_for_phase(barriers_ + 8 * (n % kSlots), n / kSlots % 2);
#else
    wait_for_copies<kSlots - 1>();
    __syncwarp();
#endif
  }

  // Tells that the warp has read all that it wants of the slot that it waited for last. `read` is a
  // mix of all that it has read: a load whose result has been used is over, and no copy can
  // overtake it. `zero` is a zero that the compiler cannot see through.
  __device__ __forceinline__ void release(std::uint32_t read, std::uint32_t zero) {
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
    announced_ = kBoxSize + (read & zero);
#endif
    __syncwarp();
  }

  // The n-th fill. In it rows lie swizzled().
  __device__ __forceinline__ std::uint32_t offset(unsigned n) const {
    return n % kSlots * kBoxSize;
  }

 private:
#if __CUDA_ARCH__ < 900 || __CUDA_ARCH__ >= 1200
  // What the copy engine does, by 16 bytes a lane; zeros beyond the weight's edges.
  __device__ __forceinline__ void copy_pieces(std::uint32_t slot, BoxPosition position) const {
    const std::int64_t row_bytes = job_.inputs / 2;
#pragma unroll
    for (int i = 0; i < kBoxSize / 16 / 32; ++i) {
      const int index = i * 32 + static_cast<int>(threadIdx.x & 31);
      const int row = index / 8;
      const int piece = index % 8;
      const std::int64_t byte = std::int64_t{position.column} * kBoxBytes + piece * 16;
      const bool inside = byte < row_bytes && position.row + row < job_.outputs;
      const std::uint8_t* source =
          job_.packed + (inside ? (position.row + row) * row_bytes + byte : 0);
      copy_async<16>(slot + swizzled(row, piece), source, inside);
    }
  }
#endif

  const CUtensorMap& map_;
  const Job& job_;
  std::uint32_t slots_;
  std::uint32_t barriers_;
  std::uint64_t policy_ = 0;
  std::uint32_t announced_ = kBoxSize;  // bytes of the next fill
};

#endif

}  // namespace nf4bench::kernels::cuda
