#pragma once

// A join through the workspace: blocks leave their accumulators of a split tile, and each adds up a
// share of them when all have.

#include "cuda/matmul/join/claimed_counter.cuh"
#include "cuda/matmul/join/pieces.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"

namespace nf4bench::kernels::cuda {

// Sums of split tiles, in the workspace. A block has at most two split tiles, and each of its
// groups of warps, which have the same rows, a place for each of them; a tile has a counter a
// group.
struct SplitSums {
  float* sums;
  unsigned long long* counters;
};

// Until all threads of this thread's group are here.
template <class Shape>
__device__ __forceinline__ void meet_group() {
  if constexpr (Shape::kGroupThreads == 32) {
    __syncwarp();
  } else {
    sync_at<Shape::kGroupThreads>(Shape::kGroupBarrier +
                                  static_cast<int>(threadIdx.x / Shape::kGroupThreads));
  }
}

// Of a lane's sums, which are in pieces of 16 bytes, each of the parts that share a tile adds up
// some: load(part, piece) of all parts, in their order, so that the result is always the same.
template <int kPieces>
class PieceShare {
 public:
  __device__ __forceinline__ PieceShare(int parts, int begin, int end)
      : parts_(parts), begin_(begin), end_(end) {}

  __device__ __forceinline__ int count() const { return end_ - begin_; }

  template <class Outputs, class Load>
  __device__ __forceinline__ void add_up(const Outputs& outputs, const Load& load) const {
    int piece = begin_;
    if constexpr (kPieces >= 16) {
      while (parts_ == 2 && piece + 8 <= end_) piece = add_up_pieces<8>(outputs, piece, load);
    }
    if constexpr (kPieces >= 4) {
      while (piece + 4 <= end_) piece = add_up_pieces<4>(outputs, piece, load);
    }
    if constexpr (kPieces >= 4 && kPieces < 16) {
      if (piece + 2 <= end_) piece = add_up_pieces<2>(outputs, piece, load);
    }
    while (piece < end_) piece = add_up_pieces<1>(outputs, piece, load);
  }

 private:
  // kCount of them from `first` on, with 16 loads under way at once. Returns what comes next.
  template <int kCount, class Outputs, class Load>
  __device__ __forceinline__ int add_up_pieces(const Outputs& outputs, int first,
                                               const Load& load) const {
    constexpr int kParts = 16 / kCount;
    float4 sums[kCount] = {};
    for (int part = 0; part < parts_; part += kParts) {
      float4 loaded[kParts][kCount] = {};
#pragma unroll
      for (int k = 0; k < kParts; ++k) {
        if (part + k >= parts_) continue;
#pragma unroll
        for (int i = 0; i < kCount; ++i) loaded[k][i] = load(part + k, first + i);
      }
#pragma unroll
      for (int k = 0; k < kParts; ++k) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) sums[i] = add(sums[i], loaded[k][i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) outputs.store(first + i, sums[i]);
    return first + kCount;
  }

  int parts_;
  int begin_;
  int end_;
};

// The blocks that share a split tile. Each of their groups leaves its sums in the workspace and
// goes on. When it has nothing else to do it waits for the others, and adds up its share of what
// all of them have left. All blocks of the grid run at once, so the wait ends.
template <class Shape>
class SharedTile {
 public:
  __device__ __forceinline__ SharedTile(const StagePlan& plan, const SplitSums& split, int tile)
      : split_(split),
        counter_(split.counters + (tile - plan.whole) * Shape::kGroups + group()),
        blocks_(plan, tile - plan.whole) {}

  // ClaimedCounter's, for leave().
  __device__ __forceinline__ unsigned long long look() const {
    return is_first() ? counter_.look() : 0;
  }

  // piece(i) is the i-th of this lane's.
  template <class Piece>
  __device__ __forceinline__ void leave(unsigned long long seen, const Piece& piece) const {
    if (is_first()) counter_.claim(seen);
    float4* own = place(static_cast<int>(blockIdx.x) - blocks_.first);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      __stcg(own + i * kThreads, piece(i));
    }
    meet_group<Shape>();
    if (is_first()) counter_.leave();
  }

  template <class Outputs>
  __device__ __forceinline__ void add_up(const Outputs& outputs) const {
    const int index = static_cast<int>(blockIdx.x) - blocks_.first;
    const PieceShare<kPieces> share(blocks_.count, index * kPieces / blocks_.count,
                                    (index + 1) * kPieces / blocks_.count);
    if (share.count() == 0) return;
    if (is_first()) counter_.wait(blocks_.count);
    meet_group<Shape>();
    share.add_up(outputs,
                 [&](int block, int piece) { return __ldcg(place(block) + piece * kThreads); });
    // Not before the sums have been asked for.
    if (is_first()) counter_.tell_seen(min(blocks_.count, kPieces));
  }

 private:
  static constexpr int kPieces = Shape::kPieces;
  static constexpr int kThreads = Shape::kGroupThreads;

  __device__ __forceinline__ static bool is_first() {
    return threadIdx.x % kThreads == 0;
  }
  __device__ __forceinline__ static int group() {
    return static_cast<int>(threadIdx.x / kThreads);
  }

  // The sums that the block-th of the tile's blocks has left, a lane's in steps of kThreads pieces.
  __device__ __forceinline__ float4* place(int block) const {
    const int index =
        (blocks_.first + block) * 2 + (block == 0 && blocks_.first_has_another ? 1 : 0);
    return reinterpret_cast<float4*>(
               split_.sums + (std::int64_t{index} * Shape::kGroups + group()) * Shape::kGroupSums) +
           threadIdx.x % kThreads;
  }

  const SplitSums& split_;
  ClaimedCounter counter_;
  TileBlocks blocks_;
};

}  // namespace nf4bench::kernels::cuda
