#pragma once

// A join within a cluster: its blocks send each other their accumulators of the tile that they
// share.

#include "cuda/matmul/join/pieces.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"
#include "cuda/ptx_hopper.cuh"

namespace nf4bench::kernels::cuda {

// Where in shared memory the blocks of a cluster send each other their sums.
struct ClusterSums {
  int at = 0;
  bool is_early = false;  // nothing of a block's last stage lies there
};

template <class Shape>
ClusterSums place_cluster_sums(const StagePlan& plan) {
  if (!Shape::kArrivesEarly) return {Shape::kWeights, false};
  constexpr int kStageSlots = 4 / Shape::kSlotQuarters;  // of activations
  bool used[Shape::kWeightSlots + Shape::kTokenSlots] = {};
  for (int stages = plan.share; stages <= plan.share + (plan.extra > 0 ? 1 : 0); ++stages) {
    used[(stages - 1) % Shape::kWeightSlots] = true;
    // The products before it may still be under way.
    const int end = stages * kStageSlots;
    for (int i = stages > 1 ? end - kStageSlots - 1 : 0; i < end; ++i) {
      used[Shape::kWeightSlots + i % Shape::kTokenSlots] = true;
    }
  }
  int at = Shape::kWeights;
  int bytes = 0;
  for (int slot = 0; slot < Shape::kWeightSlots + Shape::kTokenSlots; ++slot) {
    bytes += slot < Shape::kWeightSlots ? Shape::kWeightSlotBytes : Shape::kTokenSlotBytes;
    if (used[slot]) {
      at += bytes;
      bytes = 0;
    } else if (bytes >= Shape::cluster_bytes(plan.team)) {
      return {at, true};
    }
  }
  return {Shape::kWeights, false};
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// A tile that the blocks of a cluster, two, four or eight, share. Each sends its sums to those that
// add them up.
template <class Shape>
class ClusterTile {
 public:
  __device__ __forceinline__ ClusterTile(const StagePlan& plan, const ClusterSums& sums,
                                         std::uint32_t shared)
      : parts_(plan.team),
        place_(TeamMember(plan, static_cast<int>(blockIdx.x)).place),
        shift_(__ffs(parts_) - 1),
        share_((kPieces + parts_ - 1) >> shift_),
        is_early_(Shape::kArrivesEarly && sums.is_early),
        barrier_(shared + Shape::kJoin),
        sums_(shared + (Shape::kArrivesEarly ? sums.at : Shape::kWeights) +
              threadIdx.x / 128 * 2048 + threadIdx.x % 128 * 16) {}

  __device__ __forceinline__ void send(const float (&sums)[Shape::kSums]) const {
    if (is_pair()) return place_ == 0 ? send_half<1>(sums) : send_half<0>(sums);
    meet((parts_ - 1) * own_count());
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const float4 piece = piece_of(sums, i);
      const auto parts = static_cast<unsigned>(((i + 1) << shift_) + kPieces - 1);
      const int block = static_cast<int>(parts / kPieces) - 1;  // who adds it up
      const std::uint32_t target = place(place_, block, i);
      if (block == place_) {
        store_shared_16(target, piece);  // for this thread itself
      } else {
        send_16(address_in_block(block, target), piece, address_in_block(block, barrier_));
      }
    }
  }

  template <class Outputs>
  __device__ __forceinline__ void add_up(const float (&sums)[Shape::kSums],
                                         const Outputs& outputs) const {
    wait_for_cluster_bytes(barrier_);
    if (is_pair()) {
      return place_ == 0 ? add_half<0>(sums, outputs) : add_half<1>(sums, outputs);
    }
    // In the order of the blocks, so that the result is always the same.
    constexpr int kLoads = kPieces > 1 ? 4 : 2;  // at once; two blocks may share a single piece
    const int count = own_count();
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      float4 total = {};
#pragma unroll 1
      for (int block = 0; block < parts_; block += kLoads) {
        float4 loaded[kLoads];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
          loaded[k] = load_shared_piece(sums_ + ((block + k) * share_ + i) * kPieceBytes);
        }
#pragma unroll
        for (int k = 0; k < kLoads; ++k) total = add(total, loaded[k]);
      }
      outputs.store(first_piece(place_) + i, total);
    }
  }

 private:
  static constexpr int kPieces = Shape::kPieces;
  static constexpr int kHalf = kPieces / 2;
  static constexpr int kPieceBytes = Shape::kPieceBytes;

  // Of two blocks the first adds up the first half, and each has its own sums in registers.
  __device__ __forceinline__ bool is_pair() const {
    return Shape::is_pair(parts_);
  }

  template <int kWhich>
  __device__ __forceinline__ void send_half(const float (&sums)[Shape::kSums]) const {
    const std::uint32_t target = address_in_block(kWhich, sums_);
    const std::uint32_t barrier = address_in_block(kWhich, barrier_);
    meet(kHalf);
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      send_16(target + i * kPieceBytes, piece_of(sums, kWhich * kHalf + i), barrier);
    }
  }

  template <int kWhich, class Outputs>
  __device__ __forceinline__ void add_half(const float (&sums)[Shape::kSums],
                                           const Outputs& outputs) const {
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const int piece = kWhich * kHalf + i;
      outputs.store(piece, add(piece_of(sums, piece), load_shared_piece(sums_ + i * kPieceBytes)));
    }
  }

  // Until all are ready. This block waits for `pieces` from now on.
  __device__ __forceinline__ void meet(int pieces) const {
    if (threadIdx.x == 0) arrive_expecting(barrier_, pieces * kPieceBytes);
    if (!is_early_) arrive_at_cluster();
    wait_for_cluster();
  }

  // Of the pieces that a block adds up.
  __device__ __forceinline__ int first_piece(int block) const {
    return block * kPieces >> shift_;
  }

  __device__ __forceinline__ int own_count() const {
    return first_piece(place_ + 1) - first_piece(place_);
  }

  // Where `to`, which adds up a piece, has it `from` a block.
  __device__ __forceinline__ std::uint32_t place(int from, int to, int piece) const {
    return sums_ + (from * share_ + piece - first_piece(to)) * kPieceBytes;
  }

  int parts_;
  int place_;
  int shift_;  // 2^shift_ parts
  int share_;  // pieces that a block adds up at most
  bool is_early_;
  std::uint32_t barrier_;
  std::uint32_t sums_;
};

#endif

}  // namespace nf4bench::kernels::cuda
