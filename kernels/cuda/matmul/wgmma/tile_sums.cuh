#pragma once

// Where the sums of the warpgroup kernel go: to the output, or to the workspace where several
// blocks share a tile.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/wgmma/arrange_tokens.cuh"
#include "cuda/matmul/wgmma/stage_walk.cuh"

namespace nf4bench::kernels::cuda {

// Sums of split tiles, in the workspace. A block has at most two split tiles, and each of its
// warpgroups a place for each of them; a tile has a counter a warpgroup.
struct SplitSums {
  float* sums;
  int* counters;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The two neighbouring rows of a lane in its warpgroup's 64. The tensor cores' row lane / 4 is the
// first of them in every second quad and the second in the others, so that the lanes that read
// shared memory together find their words in different banks.
struct LaneRows {
  int pair;     // the first row of the two
  int swapped;  // 1: the second row comes first

  __device__ __forceinline__ LaneRows()
      : pair(static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 * 2)),
        swapped(static_cast<int>(threadIdx.x / 4 % 2)) {}
  __device__ __forceinline__ int first() const { return pair + swapped; }
  __device__ __forceinline__ int second() const { return pair + (swapped ^ 1); }
};

// Where a lane's sums go: its rows of a tile.
class LaneOutputs {
 public:
  __device__ __forceinline__ LaneOutputs(const Job& job, const TokenImage& image, int row,
                                         int token)
      : job_(job), image_(image), row_(row + rows_.pair), token_(token) {
    const int last = static_cast<int>(job.outputs) - 1;
    inverse_[0] = inverse_of(image.factors.values + min(row + rows_.first(), last));
    inverse_[1] = inverse_of(image.factors.values + min(row + rows_.second(), last));
  }

  // The sums of two tokens of each eight; `eight` counts these.
  __device__ __forceinline__ void store(int eight, float4 sums) const {
    if (row_ >= job_.outputs) return;
    const float by_row[2][2] = {{sums.x * inverse_[0], sums.z * inverse_[1]},
                                {sums.y * inverse_[0], sums.w * inverse_[1]}};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int token = token_ + eight * 8 + static_cast<int>(threadIdx.x % 4 * 2) + i;
      if (token >= job_.tokens) continue;
      const float scale = __ldcg(image_.scales + token);
      const float first = by_row[i][0] * scale;
      const float second = by_row[i][1] * scale;
      store_pair(token, rows_.swapped != 0 ? second : first, rows_.swapped != 0 ? first : second);
    }
  }

 private:
  // Of a power of two.
  __device__ static __forceinline__ float inverse_of(const float* factor) {
    return __uint_as_float(0x7f000000u - __float_as_uint(__ldcg(factor)));
  }

  __device__ __forceinline__ void store_pair(std::int64_t token, float first, float second) const {
    const std::uint32_t pair = job_.output_type == OutputType::kFloat16
                                   ? pack_float16(first, second)
                                   : pack_bfloat16(first, second);
    std::uint16_t* at = static_cast<std::uint16_t*>(job_.output) + token * job_.outputs + row_;
    if (job_.outputs % 2 == 0) {
      *reinterpret_cast<std::uint32_t*>(at) = pair;
      return;
    }
    at[0] = static_cast<std::uint16_t>(pair);
    if (row_ + 1 < job_.outputs) at[1] = static_cast<std::uint16_t>(pair >> 16);
  }

  const Job& job_;
  const TokenImage& image_;
  LaneRows rows_;
  int row_;
  int token_;
  float inverse_[2];
};

// The blocks that share a split tile. Each of their warpgroups leaves its sums in the workspace and
// goes on. When it has nothing else to do it waits for the others, and adds up its part of what all
// of them have left, in the order of the blocks, so that the result is always the same. All blocks
// of the grid run at once, so the wait ends.
template <class Shape>
class SharedTile {
 public:
  __device__ __forceinline__ SharedTile(const StagePlan& plan, const SplitSums& split, int tile)
      : split_(split), counter_(split.counters + (tile - plan.whole) * Shape::kGroups + group()) {
    const int begin = (tile - plan.whole) * plan.stages;
    first_block_ = block_of_split(plan, begin);
    blocks_ = block_of_split(plan, begin + plan.stages - 1) - first_block_ + 1;
    // Only the first of the tile's blocks can have had a split tile before this one.
    first_place_ = split_begin(plan, first_block_) < begin ? 1 : 0;
  }

  __device__ __forceinline__ void leave(const float (&sums)[Shape::kSums]) const {
    float4* own = place(static_cast<int>(blockIdx.x) - first_block_);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      __stcg(own + i * 128,
             make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]));
    }
    __threadfence();
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group()) : "memory");
    if (threadIdx.x % 128 == 0) atomicAdd(counter_, 1);
  }

  __device__ __forceinline__ void add_up(const LaneOutputs& outputs) const {
    const int index = static_cast<int>(blockIdx.x) - first_block_;
    const int begin = index * kPieces / blocks_;
    const int end = (index + 1) * kPieces / blocks_;
    if (begin == end) return;
    if (threadIdx.x % 128 == 0) wait();
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group()) : "memory");
    for (int piece = begin; piece < end; ++piece) {
      float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
      for (int block = 0; block < blocks_; ++block) {
        const float4 part = __ldcg(place(block) + piece * 128);
        sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
      }
      outputs.store(piece, sum);
    }
  }

 private:
  static constexpr int kPieces = Shape::kTokens / 8;  // of 16 bytes, of a lane's sums

  __device__ __forceinline__ static int group() {
    return static_cast<int>(threadIdx.x / 128);
  }

  // The sums that the block-th of the tile's blocks has left, a lane's in steps of 128 pieces.
  __device__ __forceinline__ float4* place(int block) const {
    const int index = (first_block_ + block) * 2 + (block == 0 ? first_place_ : 0);
    return reinterpret_cast<float4*>(
               split_.sums + (std::int64_t{index} * Shape::kGroups + group()) * Shape::kGroupSums) +
           threadIdx.x % 128;
  }

  __device__ __forceinline__ void wait() const {
    int left = 0;
#pragma unroll 1
    while (left < blocks_) {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(left) : "l"(counter_) : "memory");
    }
  }

  const SplitSums& split_;
  int* counter_;
  int first_block_;
  int blocks_;
  int first_place_;
};

#endif

}  // namespace nf4bench::kernels::cuda
