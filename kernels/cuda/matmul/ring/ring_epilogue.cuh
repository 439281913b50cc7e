#pragma once

// Where accumulators of mma_ring go: to the output, or to the workspace where several blocks share
// a tile.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/join/shared_tile.cuh"
#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/product_type.cuh"
#include "cuda/matmul/ring/ring_sync.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"

namespace nf4bench::kernels::cuda {

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

  // The b-th block of a stage that this warp multiplies.
  __device__ __forceinline__ int block_of_stage(int b) const { return warp_k + b * Shape::kWarpsK; }

  // The first of the lane's rows in the tile, once the group has added up.
  __device__ __forceinline__ int first_row() const {
    return index * Shape::kWarpRows + warp_k * Shape::kOwnTiles * Shape::kTileRows +
           lane / 4 * Shape::kLaneRows;
  }
};

// Stores a lane's pieces: of a tile of 16 rows and 8 tokens, two neighbouring rows of tokens 2t and
// 2t + 1. Pieces are numbered (own tile of rows, tile of tokens).
template <class Shape, OutputType kType, bool kHasFactors>
class RingOutputs {
 public:
  __device__ __forceinline__ RingOutputs(const Job& job, const StagePlan& plan,
                                         const TokenFactors& factors, int tile,
                                         const RingGroup<Shape>& group)
      : job_(job), factors_(factors) {
    const TilePlace at(plan, tile);
    row_ = at.rows * Shape::kRows + group.first_row();
    token_ = at.tokens * Shape::kTokens + group.lane % 4 * 2;
  }

  __device__ __forceinline__ void store(int piece, float4 sums) const {
    const int row = row_ + piece / Shape::kTilesM * Shape::kTileRows;
    const int token = token_ + piece % Shape::kTilesM * 8;
    if (row >= job_.outputs) return;
    const bool has_second = row + 1 < job_.outputs;
    const float2 bias = {bias_of<kType>(job_, row),
                         has_second ? bias_of<kType>(job_, row + 1) : 0.0f};
    store_pair(row, token, sums.x, sums.z, bias);
    store_pair(row, token + 1, sums.y, sums.w, bias);
  }

 private:
  __device__ __forceinline__ void store_pair(int row, int token, float first, float second,
                                             float2 bias) const {
    if (token >= job_.tokens) return;
    const std::uint32_t pair =
        pack_pair<kType>(__fadd_rn(sum_of<kType, kHasFactors>(first, factors_, token), bias.x),
                         __fadd_rn(sum_of<kType, kHasFactors>(second, factors_, token), bias.y));
    auto* at = static_cast<std::uint16_t*>(job_.output) +
               std::int64_t{token} * static_cast<int>(output_stride(job_)) + row;
    if (has_output_pairs(job_)) {
      *reinterpret_cast<std::uint32_t*>(at) = pair;
      return;
    }
    at[0] = static_cast<std::uint16_t>(pair);
    if (row + 1 < job_.outputs) at[1] = static_cast<std::uint16_t>(pair >> 16);
  }

  const Job& job_;
  const TokenFactors& factors_;
  int row_;
  int token_;
};

}  // namespace nf4bench::kernels::cuda
