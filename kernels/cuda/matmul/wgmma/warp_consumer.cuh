#pragma once

// Multiplies by the products of single warps, whose operand B comes from registers. So the order of
// inputs is free, and a lane multiplies what it reads: of a block of 64 inputs lane t of a quad has
// inputs 16 t to 16 t + 15, two words of a row of the weight and 32 bytes of a token. Shared
// memory, which is what limits, gives each byte of the weight once. The tensor cores do a third of
// what products of warpgroups would, which few tokens leave them time for.
//
// Of a warpgroup's 64 rows and of a stage each warp does a quarter of the inputs: a block, whose
// scale is multiplied with the sums over it in float32. When a tile ends the quarters are added up,
// so that each warp has the sums of 16 rows, as products of warpgroups would leave them. Of a stage
// that ends early each warp does these 16 rows.

#include "cuda/matmul/join/pieces.cuh"
#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/wgmma/epilogue.cuh"
#include "cuda/matmul/wgmma/named_barriers.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <class Shape, OutputType kType>
class WarpConsumer {
 public:
  __device__ __forceinline__ explicit WarpConsumer(std::uint8_t* shared)
      : shared_(shared_address(shared)),
        rings_(shared_),
        quarter_(static_cast<int>(threadIdx.x / 32 % 4)),
        exchange_(shared_ + Shape::kExchange + threadIdx.x / 128 * Shape::kGroupExchangeBytes +
                  threadIdx.x % 32 * 16) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = static_cast<int>(threadIdx.x / 128) * kGroupRows + lane_row(lane, i);
      words_[i] = keep(shared_ + Shape::kWeights + word_place(row, quarter_, lane % 4));
      scales_[i] = keep(shared_ + Shape::kScales + row * 16 + quarter_ * 4);
      tokens_[i] = keep(shared_ + Shape::kActivations + token_place(quarter_, i));
    }
    table_ = keep(shared_ + Shape::kTable + lane * 4);
    zero_ = load_shared_8(shared_ + Shape::kZero).x;
  }

  // Begins a tile.
  __device__ __forceinline__ void begin_tile() {
#pragma unroll
    for (auto& rows : parts_) clear(rows);
    clear(own_);
    has_quarters_ = false;
  }

  // Until the activations of the next tile's first stage are there.
  __device__ __forceinline__ void wait_for_tile() const {
    wait_for_phase(rings_.tokens.full(tokens_at_.slot), tokens_at_.parity);
  }

  // Multiplies so many stages, and then the `rest` quarters of one that ends within it, if any.
  // `arrives`: at the cluster's barrier, before the last stage of all.
  __device__ __forceinline__ void multiply(int stages, int rest, bool arrives) {
    has_quarters_ = stages > 0;
    int until_arrival = arrives ? stages + (rest > 0 ? 1 : 0) : 0;
    for (; stages > 0; --stages) {
      if (--until_arrival == 0) arrive_at_cluster();
      multiply_stage();
    }
    if (rest > 0) {
      if (--until_arrival == 0) arrive_at_cluster();
      multiply_rest(rest);
    }
  }

  // Adds up the quarters. Each warp has the sums of its 16 rows then.
  __device__ __forceinline__ void finish_tile() {
    if (has_quarters_) {
      meet_warpgroup();  // all have read what was there before
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int eight = 0; eight < kEights; ++eight) {
          store_shared_16(exchange_ + place(i, quarter_, eight), piece_of(parts_[i][eight], 0));
        }
      }
      meet_warpgroup();
    }
#pragma unroll
    for (int eight = 0; eight < kEights; ++eight) {
      float4 sum = piece_of(own_[eight], 0);
      if (has_quarters_) {
#pragma unroll
        for (int quarter = 0; quarter < 4; ++quarter) {
          sum = add(sum, load_shared_piece(exchange_ + place(quarter_, quarter, eight)));
        }
      }
      accumulators[4 * eight] = sum.x;
      accumulators[4 * eight + 1] = sum.y;
      accumulators[4 * eight + 2] = sum.z;
      accumulators[4 * eight + 3] = sum.w;
    }
  }

  float accumulators[Shape::kSums];

 private:
  static constexpr int kEights = Shape::kTokens / 8;
  static constexpr bool kHasRows = Shape::kTokenLayout == TokenLayout::kRows;
  static constexpr int kEightBytes = 8 * (kHasRows ? kTokenRowBytes : kBoxBytes);

  // Half of this lane's inputs of a quarter, of the first eight tokens, in a slot.
  __device__ __forceinline__ static int token_place(int quarter, int half) {
    const int token = static_cast<int>(threadIdx.x % 32 / 4);
    const int t = static_cast<int>(threadIdx.x % 4);
    if constexpr (kHasRows) return half_place_in_row(token, quarter, t, half);
    return quarter * Shape::kQuarterBytes + half_place(token, t, half);
  }

  // Of a block: the words of a lane's two rows, and their scales.
  struct Rows {
    uint2 words[2];
    float scales[2];

    // Known only when all has been loaded.
    __device__ __forceinline__ std::uint32_t mix() const {
      return words[0].x | words[1].x | __float_as_uint(scales[0]) | __float_as_uint(scales[1]);
    }
  };

  __device__ __forceinline__ static void clear(float (&sums)[kEights][4]) {
#pragma unroll
    for (auto& eight : sums) {
#pragma unroll
      for (float& sum : eight) sum = 0.0f;
    }
  }

  __device__ __forceinline__ void multiply_stage() {
    wait_for_phase(rings_.weights.full(weights_at_.slot), weights_at_.parity);
    Rows rows[4];
    std::uint32_t read = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      rows[i] = load_rows(i);
      read |= rows[i].mix();
    }
    wait_for_phase(rings_.tokens.full(tokens_at_.slot), tokens_at_.parity);
    uint4 tokens[kEights][2];
#pragma unroll
    for (int eight = 0; eight < kEights; ++eight) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        tokens[eight][i] = load_shared_16(tokens_[i] + tokens_at_.slot * Shape::kTokenSlotBytes +
                                          eight * kEightBytes);
        read |= tokens[eight][i].x & zero_;
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      multiply_rows(parts_[i], rows[i], tokens);
      if (i == 0) leave_stage(read);
    }
  }

  // So many quarters of a stage.
  __device__ __forceinline__ void multiply_rest(int quarters) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int first_row = static_cast<int>(threadIdx.x / 32 * 16);
    wait_for_phase(rings_.weights.full(weights_at_.slot), weights_at_.parity);
    wait_for_phase(rings_.tokens.full(tokens_at_.slot), tokens_at_.parity);
    std::uint32_t read = 0;
#pragma unroll 1
    for (int quarter = 0; quarter < quarters; ++quarter) {
      Rows rows;
      uint4 tokens[kEights][2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = first_row + lane_row(lane, i);
        rows.words[i] =
            load_shared_8(shared_ + Shape::kWeights + weights_at_.slot * Shape::kWeightSlotBytes +
                          word_place(row, quarter, lane % 4));
        rows.scales[i] = __uint_as_float(load_shared_4(shared_ + Shape::kScales +
                                                       weights_at_.slot * Shape::kScaleSlotBytes +
                                                       row * 16 + quarter * 4));
#pragma unroll
        for (int eight = 0; eight < kEights; ++eight) {
          tokens[eight][i] = load_shared_16(shared_ + Shape::kActivations +
                                            tokens_at_.slot * Shape::kTokenSlotBytes +
                                            token_place(quarter, i) + eight * kEightBytes);
          read |= tokens[eight][i].x & zero_;
        }
      }
      read |= rows.mix();
      multiply_rows(own_, rows, tokens);
    }
    leave_stage(read);
  }

  // In the i-th 16 rows.
  __device__ __forceinline__ Rows load_rows(int i) const {
    Rows rows;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      rows.words[k] = load_shared_8(words_[k] + weights_at_.slot * Shape::kWeightSlotBytes +
                                    i * 16 * kBoxBytes);
      rows.scales[k] = __uint_as_float(
          load_shared_4(scales_[k] + weights_at_.slot * Shape::kScaleSlotBytes + i * 16 * 16));
    }
    return rows;
  }

  __device__ __forceinline__ void multiply_rows(float (&parts)[kEights][4], const Rows& rows,
                                                const uint4 (&tokens)[kEights][2]) const {
    std::uint32_t a[4][4];
#pragma unroll
    for (int pair = 0; pair < 8; ++pair) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const std::uint32_t word = pair < 4 ? rows.words[i].x : rows.words[i].y;
        a[pair / 2][pair % 2 * 2 + i] =
            load_constant_4(step_to_byte(word, byte_factor(pair % 4), table_));
      }
    }
#pragma unroll
    for (int eight = 0; eight < kEights; ++eight) {
      float block[4] = {};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const uint4 b = tokens[eight][i];
        mma_m16n8k16<kType>(block, a[2 * i], b.x, b.y);
        mma_m16n8k16<kType>(block, a[2 * i + 1], b.z, b.w);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        parts[eight][i] = __fmaf_rn(rows.scales[i / 2], block[i], parts[eight][i]);
      }
    }
  }

  // Gives back the slots of which `read` is mixed.
  __device__ __forceinline__ void leave_stage(std::uint32_t read) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      arrive_after_reading(rings_.weights.empty(weights_at_.slot), read, zero_);
      arrive_after_reading(rings_.tokens.empty(tokens_at_.slot), read, zero_);
    }
    weights_at_.advance();
    tokens_at_.advance();
  }

  // Where a warp leaves the sums of 16 rows and eight tokens over a quarter.
  __device__ __forceinline__ static std::uint32_t place(int rows, int quarter, int eight) {
    return static_cast<std::uint32_t>(((rows * 4 + quarter) * kEights + eight) * 512);
  }

  std::uint32_t shared_;
  WgmmaRings<Shape> rings_;
  int quarter_;              // of a stage that this warp multiplies
  std::uint32_t exchange_;   // where the quarters are added up
  std::uint32_t words_[2];   // its words of this lane's rows of the first 16, in the first slot
  std::uint32_t scales_[2];  // their scales
  std::uint32_t tokens_[2];  // the halves of its 32 bytes of one of the first eight tokens
  std::uint32_t table_;
  std::uint32_t zero_;          // as arrive_after_reading() wants it
  float parts_[4][kEights][4];  // sums of four times 16 rows over this quarter
  float own_[kEights][4];       // of this warp's 16 rows over stages that end early
  bool has_quarters_;           // whether the former are any
  RingPosition<Shape::kWeightSlots> weights_at_;
  RingPosition<Shape::kTokenSlots> tokens_at_;
};

#endif

}  // namespace nf4bench::kernels::cuda
