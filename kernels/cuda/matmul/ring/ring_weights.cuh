#pragma once

// Operand A of mma_ring: what a lane reads of a block of 64 or 32 inputs, and how it becomes the
// fragments that ring_consumer.cuh describes.

#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/ring/ring_epilogue.cuh"

namespace nf4bench::kernels::cuda {

// Weights that lie in rows: bytes are pairs of inputs, each a register of A.
template <class Shape, OutputType kType>
class RowWeights {
  static constexpr int kBlockWords = Shape::kBlockInputs / 32;  // of a row

 public:
  struct Block {
    std::uint32_t words[Shape::kTilesN][2][kBlockWords];
    float scales[Shape::kTilesN][2];
  };

  __device__ __forceinline__ RowWeights(const RingGroup<Shape>& group, std::uint32_t shared)
      : table_(keep(shared + group.lane * 4)),
        scales_(keep(
            shared + Shape::kRing + Shape::kScalesAt +
            (group.warp_k * Shape::kRows + group.index * Shape::kWarpRows + group.lane / 4 * 2) *
                4)) {
#pragma unroll
    for (int b = 0; b < Shape::kWarpBlocks; ++b) {
      const int place = group.index * Shape::kWarpRows + group.lane / 4;
      words_[b] = keep(shared + Shape::kRing + weight_place<Shape>(place, group.block_of_stage(b)) +
                       group.lane % 4 * kBlockWords * 4);
    }
  }

  __device__ __forceinline__ Block load(int b, std::uint32_t slot) const {
    Block block;
#pragma unroll
    for (int n = 0; n < Shape::kTilesN; ++n) {
      const std::uint32_t at = words_[b] + slot + n * 16 * Shape::kRowBytes;
      load_words(block.words[n][0], at);
      load_words(block.words[n][1], at + 8 * Shape::kRowBytes);
      const uint2 two =
          load_shared_8(scales_ + slot + (b * Shape::kWarpsK * Shape::kRows + n * 16) * 4);
      block.scales[n][0] = __uint_as_float(two.x);
      block.scales[n][1] = __uint_as_float(two.y);
    }
    return block;
  }

  // What wide scales need besides.
  __device__ __forceinline__ void load_powers(Block&, int, std::uint32_t) const {}

  // A of tile n, for a step of the block's products.
  template <int kProducts>
  __device__ __forceinline__ void decode(std::uint32_t (&a)[kProducts][4], const Block& block,
                                         int n, int step) const {
#pragma unroll
    for (int byte = 0; byte < 2 * kProducts; ++byte) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int at = step * 2 * kProducts + byte;
        a[byte / 2][byte % 2 * 2 + i] =
            load_constant_4(step_to_byte(block.words[n][i][at / 4], byte_factor(at % 4), table_));
      }
    }
  }

  template <ScaleTarget kTarget, int kProducts>
  __device__ __forceinline__ static void scale(std::uint32_t (&a)[kProducts][4], const Block& block,
                                               int n, int) {
    const float(&scales)[2] = block.scales[n];
    const std::uint32_t pairs[2] = {pack_pair<kType>(scales[0], scales[0]),
                                    pack_pair<kType>(scales[1], scales[1])};
#pragma unroll
    for (auto& product : a) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (kTarget == ScaleTarget::kWeights) {
          product[i] = multiply_pair<kType>(product[i], pairs[i % 2]);
        } else {
          const float2 values = __half22float2(reinterpret_cast<const __half2&>(product[i]));
          product[i] = pack_pair<kType>(values.x * scales[i % 2], values.y * scales[i % 2]);
        }
      }
    }
  }

 private:
  __device__ __forceinline__ static void load_words(std::uint32_t (&words)[kBlockWords],
                                                    std::uint32_t at) {
    if constexpr (kBlockWords == 2) {
      const uint2 two = load_shared_8(at);
      words[0] = two.x;
      words[1] = two.y;
    } else {
      words[0] = load_shared_4(at);
    }
  }

  std::uint32_t table_;
  std::uint32_t scales_;
  std::uint32_t words_[Shape::kWarpBlocks];
};

// Weights that lie transposed: bytes are pairs of rows, of one input. What the table has for two
// inputs changes halves to become the registers of two rows:
//
//   input k      row r, row r + 1        a0 = (k, k + 1) of row r
//   input k + 1  row r, row r + 1        a1 = (k, k + 1) of row r + 1
template <class Shape, OutputType kType>
class TransposedWeights {
  static constexpr int kLaneInputs = 16;  // of a block

 public:
  struct Block {
    std::uint32_t words[kLaneInputs];  // of an input, the lane's rows
    std::uint32_t scales[kLaneInputs / 2];
    std::uint32_t powers[kLaneInputs / 2];
  };

  __device__ __forceinline__ TransposedWeights(const RingGroup<Shape>& group, std::uint32_t shared)
      : table_(keep(shared + group.lane * 4)) {
    const int t = group.lane % 4;
    const int row = group.index * Shape::kWarpRows + group.lane / 4 * Shape::kLaneRows;
    scales_ = keep(shared + Shape::kRing + Shape::kScalesAt +
                   (row / 64 * Shape::kInputs + group.warp_k * 64 + t * kLaneInputs) * 2);
    words_ = keep(shared + Shape::kRing + transposed_weight_place<Shape>(row / 64, t) +
                  group.warp_k * 64 * kColumnRowBytes + row % 64 / 2);
  }

  __device__ __forceinline__ Block load(int b, std::uint32_t slot) const {
    Block block;
    const std::uint32_t at = words_ + slot + b * Shape::kWarpsK * 64 * kColumnRowBytes;
#pragma unroll
    for (int i = 0; i < kLaneInputs; ++i) {
      const std::uint32_t of_input = at + i * 4 * kColumnRowBytes;
      block.words[i] = Shape::kTilesN == 4 ? load_shared_4(of_input) : load_shared_2(of_input);
    }
    load_factors(block.scales, b, slot);
    return block;
  }

  __device__ __forceinline__ void load_powers(Block& block, int b, std::uint32_t slot) const {
    load_factors(block.powers, b, slot + Shape::kColumns * Shape::kInputs * 2);
  }

  template <int kProducts>
  __device__ __forceinline__ void decode(std::uint32_t (&a)[kProducts][4], const Block& block,
                                         int n, int step) const {
#pragma unroll
    for (int product = 0; product < kProducts; ++product) {
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const int input = (step * kProducts + product) * 4 + pair * 2;
        const std::uint32_t first = look_up(block.words[input], n);
        const std::uint32_t second = look_up(block.words[input + 1], n);
        a[product][pair * 2] = permute(first, second, 0x5410);
        a[product][pair * 2 + 1] = permute(first, second, 0x7632);
      }
    }
  }

  template <ScaleTarget kTarget, int kProducts>
  __device__ __forceinline__ static void scale(std::uint32_t (&a)[kProducts][4], const Block& block,
                                               int, int step) {
#pragma unroll
    for (int product = 0; product < kProducts; ++product) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int pair = (step * kProducts + product) * 2 + i / 2;
        std::uint32_t& of = a[product][i];
        of = multiply_pair<kType>(of, block.scales[pair]);
        if constexpr (kTarget == ScaleTarget::kWideWeights) {
          of = multiply_pair<kType>(of, block.powers[pair]);
        }
      }
    }
  }

 private:
  static_assert(Shape::kTilesN == 4 || Shape::kTilesN == 2);

  __device__ __forceinline__ std::uint32_t look_up(std::uint32_t word, int n) const {
    return load_constant_4(step_to_byte(word, byte_factor(n), table_));
  }

  __device__ __forceinline__ void load_factors(std::uint32_t (&factors)[kLaneInputs / 2], int b,
                                               std::uint32_t slot) const {
#pragma unroll
    for (int i = 0; i < kLaneInputs / 8; ++i) {
      const uint4 four = load_shared_16(scales_ + slot + b * Shape::kWarpsK * 128 + i * 16);
      factors[i * 4] = four.x;
      factors[i * 4 + 1] = four.y;
      factors[i * 4 + 2] = four.z;
      factors[i * 4 + 3] = four.w;
    }
  }

  std::uint32_t table_;
  std::uint32_t scales_;
  std::uint32_t words_;
};

}  // namespace nf4bench::kernels::cuda
