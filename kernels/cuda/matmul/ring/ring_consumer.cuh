#pragma once

// Multiplies what a slot of mma_ring's ring holds, by mma.m16n8k16 with the weights as A.
//
// The order of K within a block is free, as long as both operands have the same. Of 64 inputs lane
// t of a quad has 16t to 16t + 15: two words of a row of weights, and 32 bytes of a token. The
// tensor core's columns of product j = 0..3 are
//
//   k of A and B     0, 1   (t = 0)   2, 3 (t = 1) ...   8, 9 (t = 0)  ...
//   is input         16t + 4j, + 1                       16t + 4j + 2, + 3
//
// so that a byte of a word is one register of A, of which ring_weights.cuh has also what becomes of
// weights that lie transposed, and 16 bytes of a token are B of two products:
//
//   a0 = pair[byte 2j     of row g]      a2 = pair[byte 2j + 1 of row g]      g = lane / 4
//   a1 = pair[byte 2j     of row g + 8]  a3 = pair[byte 2j + 1 of row g + 8]
//   b0, b1 = tokens[g][16t + 4j .. + 3]
//
// Of 32 inputs it has 8t to 8t + 7, one word and 16 bytes, for products 0 and 1.

#include "cuda/matmul/ring/ring_epilogue.cuh"
#include "cuda/matmul/ring/ring_producer.cuh"
#include "cuda/matmul/ring/ring_weights.cuh"

namespace nf4bench::kernels::cuda {

template <class Shape, OutputType kType, ScaleTarget kTarget>
class RingConsumer {
  using Weights = std::conditional_t<Shape::kTransposed, TransposedWeights<Shape, kType>,
                                     RowWeights<Shape, kType>>;
  using Block = typename Weights::Block;
  static constexpr int kBlockChunks = Shape::kBlockInputs / 32;  // of a token, that a lane reads

 public:
  __device__ __forceinline__ RingConsumer(const RingGroup<Shape>& group, std::uint32_t shared)
      : group_(group),
        shared_(shared),
        sync_(shared),
        weights_(group, shared),
        exchange_(keep(shared + Shape::kExchange + group.index * Shape::kGroupExchangeBytes +
                       group.lane * 16)) {
    const int g = group.lane / 4;
    const int t = group.lane % 4;
#pragma unroll
    for (int b = 0; b < Shape::kWarpBlocks; ++b) {
      const int block = group.block_of_stage(b);
#pragma unroll
      for (int i = 0; i < kBlockChunks; ++i) {
        tokens_[b][i] = keep(shared + Shape::kRing + Shape::kTokensAt +
                             token_place<Shape>(g, block, kBlockChunks * t + i));
      }
    }
  }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < Shape::kTilesN * Shape::kTilesM * 4; ++i) (&sums_[0][0][0])[i] = 0.0f;
  }

  // Adds the products of the next stage; produce() fills the slot of the stage before.
  template <class Produce>
  __device__ __forceinline__ void multiply_stage(const Produce& produce) {
    sync_.wait_until_full(at_);
    const std::uint32_t slot = at_.slot * Shape::kSlotBytes;
    produce();
    const Block first = weights_.load(0, slot);
    // Apart, for a branch within would keep look-ups from running beside products.
    if (kMayBeWide<kType, kTarget> && has_wide_scales(slot)) {
      multiply_blocks<ScaleTarget::kWideWeights>(first, slot);
    } else {
      multiply_blocks<kTarget>(first, slot);
    }
    at_.advance();
  }

  // Adds up what the warps of the group have of different inputs. Then this warp has the sums of
  // its own tiles of rows, piece by piece.
  __device__ __forceinline__ void finish_tile() {
    if constexpr (Shape::kWarpsK > 1) {
#pragma unroll
      for (int m = 0; m < Shape::kTilesM; ++m) exchange_tile(m);
    }
  }

  __device__ __forceinline__ float4 piece(int i) const {
    const float(&sums)[4] = sums_[i / Shape::kTilesM][i % Shape::kTilesM];
    return make_float4(sums[0], sums[1], sums[2], sums[3]);
  }

 private:
  // With many tokens their operands do not fit into the registers at once: half a block is
  // multiplied, then the other.
  static constexpr int kSteps = Shape::kTilesM > 4 ? kBlockChunks : 1;
  static constexpr int kStepProducts = Shape::kBlockInputs / 16 / kSteps;
  static constexpr int kStepChunks = kBlockChunks / kSteps;
  // Tiles of tokens; of blocks of 32 inputs fewer, whose sums fit into the registers then.
  static constexpr int kTogether = Shape::kTilesM < 4          ? Shape::kTilesM
                                   : Shape::kBlockInputs == 64 ? 4
                                                               : 2;

  __device__ __forceinline__ void exchange_tile(int m) {
    meet_group<Shape>();  // what was exchanged before has been read
#pragma unroll
    for (int n = 0; n < Shape::kTilesN; ++n) {
      store_shared_16(exchange_ + (group_.warp_k * Shape::kTilesN + n) * 512,
                      make_float4(sums_[n][m][0], sums_[n][m][1], sums_[n][m][2], sums_[n][m][3]));
    }
    meet_group<Shape>();
#pragma unroll
    for (int own = 0; own < Shape::kOwnTiles; ++own) {
      const int n = group_.warp_k * Shape::kOwnTiles + own;
      float sum[4] = {};
#pragma unroll
      for (int k = 0; k < Shape::kWarpsK; ++k) {
        const uint4 part = load_shared_16(exchange_ + (k * Shape::kTilesN + n) * 512);
        sum[0] += __uint_as_float(part.x);
        sum[1] += __uint_as_float(part.y);
        sum[2] += __uint_as_float(part.z);
        sum[3] += __uint_as_float(part.w);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) sums_[own][m][i] = sum[i];
    }
  }

  // Whether scales of the stage are beyond float16, so that accumulators are to be scaled.
  __device__ __forceinline__ bool has_wide_scales(std::uint32_t slot) const {
    std::uint32_t wide = 0;
#pragma unroll
    for (int i = 0; i < Shape::kProducers / 32; i += 4) {
      const uint4 words = load_shared_16(shared_ + Shape::kRing + Shape::kWideAt + slot + i * 4);
      wide |= words.x | words.y | words.z | words.w;
    }
    return wide != 0;
  }

  template <ScaleTarget kStageTarget>
  __device__ __forceinline__ void multiply_blocks(const Block& first, std::uint32_t slot) {
#pragma unroll
    for (int b = 0; b < Shape::kWarpBlocks; ++b) {
      Block block = b == 0 ? first : weights_.load(b, slot);
      if constexpr (kStageTarget == ScaleTarget::kWideWeights) weights_.load_powers(block, b, slot);
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        const bool is_last = b == Shape::kWarpBlocks - 1 && step == kSteps - 1;
        multiply_step<kStageTarget>(block, b, step, slot, is_last);
      }
    }
  }

  template <ScaleTarget kStageTarget>
  __device__ __forceinline__ void multiply_step(const Block& block, int b, int step,
                                                std::uint32_t slot, bool is_last) {
    uint4 tokens[Shape::kTilesM][kStepChunks];
#pragma unroll
    for (int m = 0; m < Shape::kTilesM; ++m) {
#pragma unroll
      for (int i = 0; i < kStepChunks; ++i) tokens[m][i] = load_tokens(b, step + i, m, slot);
    }
    if (is_last) sync_.leave(at_);
#pragma unroll
    for (int n = 0; n < Shape::kTilesN; ++n) {
      std::uint32_t a[kStepProducts][4];
      weights_.decode(a, block, n, step);
      if constexpr (kStageTarget == ScaleTarget::kAccumulators) {
        multiply_unscaled<BlockSums>(sums_[n], a, tokens, block.scales[n]);
      } else if constexpr (kStageTarget == ScaleTarget::kFloat16Accumulators) {
        multiply_unscaled<Float16BlockSums>(sums_[n], a, tokens, block.scales[n]);
      } else {
        Weights::template scale<kStageTarget>(a, block, n, step);
        multiply_scaled(sums_[n], a, tokens);
      }
    }
  }

  __device__ __forceinline__ uint4 load_tokens(int b, int chunk, int m, std::uint32_t slot) const {
    return load_shared_16(tokens_[b][chunk] + slot + m * 8 * Shape::kTokenBlockBytes);
  }

  // B of a product of this step.
  __device__ __forceinline__ static uint2 operand(const uint4 (&chunks)[kStepChunks], int product) {
    const uint4 chunk = chunks[product / 2];
    return product % 2 == 0 ? make_uint2(chunk.x, chunk.y) : make_uint2(chunk.z, chunk.w);
  }

  __device__ __forceinline__ static void multiply_scaled(
      float (&sums)[Shape::kTilesM][4], const std::uint32_t (&a)[kStepProducts][4],
      const uint4 (&tokens)[Shape::kTilesM][kStepChunks]) {
#pragma unroll
    for (int product = 0; product < kStepProducts; ++product) {
#pragma unroll
      for (int m = 0; m < Shape::kTilesM; ++m) {
        const uint2 b = operand(tokens[m], product);
        mma_m16n8k16<kType>(sums[m], a[product], b.x, b.y);
      }
    }
  }

  // What a lane has of the sums over a block, or a step of it.
  struct BlockSums {
    float sums[4] = {};

    __device__ __forceinline__ void multiply(const std::uint32_t (&a)[4], uint2 b) {
      mma_m16n8k16<kType>(sums, a, b.x, b.y);
    }
    __device__ __forceinline__ float operator[](int i) const { return sums[i]; }
  };

  struct Float16BlockSums {
    std::uint32_t sums[2] = {};

    __device__ __forceinline__ void multiply(const std::uint32_t (&a)[4], uint2 b) {
      mma_m16n8k16_float16(sums, a, b.x, b.y);
    }
    __device__ __forceinline__ float operator[](int i) const {
      const auto& pair = reinterpret_cast<const __half2&>(sums[i / 2]);
      return i % 2 == 0 ? __low2float(pair) : __high2float(pair);
    }
  };

  template <class Sums>
  __device__ __forceinline__ static void multiply_unscaled(
      float (&sums)[Shape::kTilesM][4], const std::uint32_t (&a)[kStepProducts][4],
      const uint4 (&tokens)[Shape::kTilesM][kStepChunks], const float (&scales)[2]) {
#pragma unroll
    for (int first = 0; first < Shape::kTilesM; first += kTogether) {
      Sums block[kTogether];
#pragma unroll
      for (int product = 0; product < kStepProducts; ++product) {
#pragma unroll
        for (int m = 0; m < kTogether; ++m) {
          block[m].multiply(a[product], operand(tokens[first + m], product));
        }
      }
#pragma unroll
      for (int m = 0; m < kTogether; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums[first + m][i] = __fmaf_rn(scales[i / 2], block[m][i], sums[first + m][i]);
        }
      }
    }
  }

  const RingGroup<Shape>& group_;
  std::uint32_t shared_;
  RingSync<Shape> sync_;
  typename RingSync<Shape>::Slot at_;
  Weights weights_;
  std::uint32_t exchange_;
  std::uint32_t tokens_[Shape::kWarpBlocks][kBlockChunks];
  float sums_[Shape::kTilesN][Shape::kTilesM][4];
};

}  // namespace nf4bench::kernels::cuda
