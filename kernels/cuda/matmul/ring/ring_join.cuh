#pragma once

// Where accumulators of mma_ring go: to the output, or to the workspace where several blocks share
// a tile.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/join/claimed_counter.cuh"
#include "cuda/matmul/ring/ring_sync.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"

namespace nf4bench::kernels::cuda {

// Parts of tiles, in the workspace. A block has at most two, and each of its groups a place for
// either; a tile has a counter a group.
struct RingParts {
  float4* sums;
  unsigned long long* counters;
};

// The warps of the same rows of a tile.
template <class Shape>
struct RingGroup {
  int index;
  int warp_k;
  int lane;

  __device__ __forceinline__ RingGroup()
      : index(static_cast<int>(threadIdx.x) / Shape::kGroupThreads),
        warp_k(static_cast<int>(threadIdx.x) / 32 % Shape::kWarpsK),
        lane(static_cast<int>(threadIdx.x) % 32) {}

  __device__ __forceinline__ bool is_first_thread() const { return warp_k == 0 && lane == 0; }

  __device__ __forceinline__ void meet() const {
    if constexpr (Shape::kWarpsK == 1) {
      __syncwarp();
    } else {
      sync_at<Shape::kGroupThreads>(kRingGroup + index);
    }
  }
};

// Stores a lane's pieces: of a tile of 16 rows and 8 tokens rows 2g and 2g + 1 of tokens 2t and 2t
// +
// 1. Pieces are numbered (own tile of rows, tile of tokens).
template <class Shape, OutputType kType>
class RingOutputs {
 public:
  __device__ __forceinline__ RingOutputs(const Job& job, const StagePlan& plan, int tile,
                                         const RingGroup<Shape>& group)
      : job_(job) {
    const TilePlace at(plan, tile);
    row_ = at.rows * Shape::kRows + group.index * Shape::kWarpRows +
           group.warp_k * Shape::kOwnTiles * 16 + group.lane / 4 * 2;
    token_ = at.tokens * Shape::kTokens + group.lane % 4 * 2;
  }

  __device__ __forceinline__ void store(int piece, float4 sums) const {
    const int row = row_ + piece / Shape::kTilesM * 16;
    const int token = token_ + piece % Shape::kTilesM * 8;
    if (row >= job_.outputs) return;
    const bool has_second = row + 1 < job_.outputs;
    const float bias = bias_of<kType>(job_, row);
    const float second_bias = has_second ? bias_of<kType>(job_, row + 1) : 0.0f;
    store_pair(row, token, __fadd_rn(sums.x, bias), __fadd_rn(sums.z, second_bias));
    store_pair(row, token + 1, __fadd_rn(sums.y, bias), __fadd_rn(sums.w, second_bias));
  }

 private:
  __device__ __forceinline__ void store_pair(int row, int token, float first, float second) const {
    if (token >= job_.tokens) return;
    const std::uint32_t pair =
        kType == OutputType::kFloat16 ? pack_float16(first, second) : pack_bfloat16(first, second);
    auto* at = static_cast<std::uint16_t*>(job_.output) + token * job_.outputs + row;
    if (job_.outputs % 2 == 0) {
      *reinterpret_cast<std::uint32_t*>(at) = pair;
      return;
    }
    at[0] = static_cast<std::uint16_t>(pair);
    if (row + 1 < job_.outputs) at[1] = static_cast<std::uint16_t>(pair >> 16);
  }

  const Job& job_;
  int row_;
  int token_;
};

// The blocks that share a tile. Each of their groups leaves its pieces in the workspace and goes
// on. When it has nothing else to do it waits for the others, and adds up its share of what all of
// them have left. All blocks of the grid run at once, so the wait ends.
template <class Shape>
class RingSharedTile {
 public:
  __device__ __forceinline__ RingSharedTile(const StagePlan& plan, const RingParts& parts, int tile,
                                            const RingGroup<Shape>& group)
      : parts_(parts),
        group_(group),
        counter_(parts.counters + (tile - plan.whole) * Shape::kGroups + group.index),
        blocks_(plan, tile - plan.whole) {}

  // ClaimedCounter's, for leave().
  __device__ __forceinline__ unsigned long long look() const {
    return group_.is_first_thread() ? counter_.look() : 0;
  }

  template <class PieceOf>
  __device__ __forceinline__ void leave(unsigned long long seen, const PieceOf& piece_of) const {
    if (group_.is_first_thread()) counter_.claim(seen);
    float4* own = place(static_cast<int>(blockIdx.x) - blocks_.first);
#pragma unroll
    for (int i = 0; i < Shape::kPieces; ++i) __stcg(own + i * Shape::kGroupThreads, piece_of(i));
    group_.meet();
    if (group_.is_first_thread()) counter_.leave();
  }

  template <class Outputs>
  __device__ __forceinline__ void add_up(const Outputs& outputs) const {
    constexpr int kPieces = Shape::kPieces;
    const int index = static_cast<int>(blockIdx.x) - blocks_.first;
    const int begin = index * kPieces / blocks_.count;
    const int end = (index + 1) * kPieces / blocks_.count;
    if (begin == end) return;
    if (group_.is_first_thread()) counter_.wait(blocks_.count);
    group_.meet();
    constexpr int kAtOnce = kPieces < 4 ? kPieces : 4;
#pragma unroll 1
    for (int first = begin; first < end; first += kAtOnce) {
      float4 sums[kAtOnce] = {};
#pragma unroll 2
      for (int block = 0; block < blocks_.count; ++block) {
        const float4* from = place(block) + first * Shape::kGroupThreads;
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (first + i >= end) continue;
          const float4 part = __ldcg(from + i * Shape::kGroupThreads);
          sums[i] = make_float4(sums[i].x + part.x, sums[i].y + part.y, sums[i].z + part.z,
                                sums[i].w + part.w);
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i < end) outputs.store(first + i, sums[i]);
      }
    }
    if (group_.is_first_thread()) counter_.tell_seen(min(blocks_.count, kPieces));
  }

 private:
  // What the block-th of the tile's blocks has left of this lane.
  __device__ __forceinline__ float4* place(int block) const {
    const int index =
        (blocks_.first + block) * 2 + (block == 0 && blocks_.first_has_another ? 1 : 0);
    return parts_.sums +
           (std::int64_t{index} * Shape::kGroups + group_.index) *
               (Shape::kPieces * Shape::kGroupThreads) +
           group_.warp_k * 32 + group_.lane;
  }

  const RingParts& parts_;
  const RingGroup<Shape>& group_;
  ClaimedCounter counter_;
  TileBlocks blocks_;
};

}  // namespace nf4bench::kernels::cuda
