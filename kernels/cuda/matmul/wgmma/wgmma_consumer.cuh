#pragma once

// Multiplies by the products of warpgroups: A from registers, B from shared memory.
//
// Activations are taken as they lie in memory. So of each four packed bytes lane t of a quad has to
// multiply the t-th: all lanes of a quad read the same words, and each looks its bytes up in a
// table of pairs of codebook values. A quarter of a stage is a block of 64 weights. With few tokens
// the tensor cores sum over it and its scale is multiplied with that sum in float32; with many
// tokens, whose sums are too many, with the weights. While the tensor cores multiply a quarter, the
// next one is decoded.

#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/wgmma/tile_sums.cuh"
#include "cuda/matmul/wgmma/wgmma.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Two products of 16-bit values.
template <OutputType kType>
__device__ __forceinline__ std::uint32_t multiply_pair(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product;
  if constexpr (kType == OutputType::kBfloat16) {
    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  } else {
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  }
  return product;
}

// 64 weights of each of a lane's rows, and their scales: as float32, or twice as a 16-bit value.
struct QuarterWords {
  uint4 first[2];
  uint4 second[2];
  uint2 scales;

  // Nothing that uses them may move up across the wait before.
  __device__ __forceinline__ void hold() {
#pragma unroll
    for (uint4* piece : {&first[0], &first[1], &second[0], &second[1]}) {
      asm volatile("" : "+r"(piece->x), "+r"(piece->y), "+r"(piece->z), "+r"(piece->w)::"memory");
    }
  }

  // Known only when all has been loaded.
  __device__ __forceinline__ std::uint32_t mix() const {
    return first[0].x | first[1].x | second[0].x | second[1].x | scales.x | scales.y;
  }
};

template <class Shape, OutputType kType>
class WgmmaConsumer {
 public:
  __device__ __forceinline__ explicit WgmmaConsumer(std::uint8_t* shared)
      : shared_(shared_address(shared)), rings_(shared_), tokens_(shared_ + Shape::kActivations) {
    const LaneRows rows;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = i == 0 ? rows.first() : rows.second();
      words_[i] = keep(shared_ + Shape::kWeights + row * kBoxBytes + ((row & 7) << 4));
      scales_[i] = keep(shared_ + Shape::kScales + row * 16);
    }
    table_ = keep(shared_ + Shape::kTable + threadIdx.x % 32 * 4);
    own_byte_ = keep(byte_factor(static_cast<int>(threadIdx.x % 4)));
    zero_ = load_shared_8(shared_ + Shape::kZero).x;
  }

  // Begins a tile.
  __device__ __forceinline__ void begin_tile() {
#pragma unroll
    for (float& sum : sums_) sum = 0.0f;
    adds_ = false;
  }

  // Multiplies so many stages, and then the `rest` quarters of one that ends within it, if any.
  __device__ __forceinline__ void multiply(int stages, int rest) {
    if constexpr (Shape::kEndsEarly) {
      for (; stages > 0; --stages) multiply_stage();
      if (rest > 0) multiply_rest(rest);
    } else {
      if (rest > 0) ++stages;
      do {
        multiply_stage();
      } while (--stages > 0);
    }
  }

  // Waits for what is still under way. The sums are whole then.
  __device__ __forceinline__ void finish_tile() {
    wait_for_products<0>();
    hold(sums_);
    release_tokens();
  }

  float sums_[Shape::kSums];

 private:
  // Whether words are loaded a quarter ahead. With more tokens it does not pay.
  static constexpr bool kLoadsEarly = Shape::kTokens <= 32;

  __device__ __forceinline__ void multiply_stage() {
    wait_for_phase(rings_.weights.full(weights_at_.slot), weights_at_.parity);
    QuarterWords words = load_quarter(0);
    QuarterWords next = {};
    uint2 scales_before = {};
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {
      if (kLoadsEarly && quarter < 3) next = load_quarter(quarter + 1);
      decode(weights_[quarter % 2], words);
      const uint2 scales = words.scales;
      const std::uint32_t read = words.mix();
      multiply_quarter(quarter);
      if (!kLoadsEarly && quarter < 3) next = load_quarter(quarter + 1);
      if (quarter == 3) release_weights(read);
      wait_for_products<1>();  // the quarter before, whose operands are decoded into next
      if (quarter < 3) {
        words = next;
        words.hold();
      }
      if (quarter % Shape::kSlotQuarters == Shape::kSlotQuarters - 1) {
        leave_tokens();
      } else {
        release_tokens();
      }
      if constexpr (Shape::kScaleSums) {
        if (quarter > 0) add_block((quarter + 1) % 2, scales_before);
      }
      scales_before = scales;
      adds_ = true;
    }
    if constexpr (Shape::kScaleSums) {
      // Left under way here, ptxas would wait for every single product.
      wait_for_products<0>();
      add_block(1, scales_before);
    }
  }

  __device__ __forceinline__ void multiply_rest(int quarters) {
    wait_for_products<0>();
    release_tokens();
    wait_for_phase(rings_.weights.full(weights_at_.slot), weights_at_.parity);
    std::uint32_t read = 0;
#pragma unroll 1
    for (int quarter = 0; quarter < quarters; ++quarter) {
      const int slot_quarter = quarter % Shape::kSlotQuarters;
      if (slot_quarter == 0) wait_for_tokens();
      QuarterWords words = load_words(quarter);
      words.scales = make_uint2(load_shared_4(scale_address(0) + quarter * 4),
                                load_shared_4(scale_address(1) + quarter * 4));
      read |= words.mix();
      decode(weights_[0], words);
      begin_products();
      multiply_block(0, slot_quarter, adds_);
      commit_products();
      wait_for_products<0>();
      if constexpr (Shape::kScaleSums) {
        add_block(0, words.scales);
      } else {
        hold(sums_);
      }
      adds_ = true;
      if (slot_quarter == Shape::kSlotQuarters - 1) leave_tokens();
    }
    if (quarters % Shape::kSlotQuarters > 0) leave_tokens();
    int slot = (quarters - 1) / Shape::kSlotQuarters + 1;
#pragma unroll 1
    for (; slot < 4 / Shape::kSlotQuarters; ++slot) {  // zeros
      wait_for_tokens();
      leave_tokens();
    }
    release_tokens();
    release_weights(read);
  }

  // Of a lane's first or second row. Those of a whole stage together, where they find registers.
  __device__ __forceinline__ std::uint32_t load_scale(int row, int quarter) {
    if constexpr (kLoadsEarly) {
      uint4& stage = stage_scales_[row];
      if (quarter == 0) stage = load_shared_16(scale_address(row));
      const std::uint32_t words[4] = {stage.x, stage.y, stage.z, stage.w};
      return words[quarter];
    } else {
      return load_shared_4(scale_address(row) + quarter * 4);
    }
  }

  __device__ __forceinline__ std::uint32_t scale_address(int row) const {
    return scales_[row] + weights_at_.slot * Shape::kScaleSlotBytes;
  }

  __device__ __forceinline__ QuarterWords load_quarter(int quarter) {
    QuarterWords words = load_words(quarter);
    words.scales = make_uint2(load_scale(0, quarter), load_scale(1, quarter));
    return words;
  }

  __device__ __forceinline__ QuarterWords load_words(int quarter) const {
    const std::uint32_t slot = weights_at_.slot * Shape::kWeightSlotBytes;
    QuarterWords words;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t piece = (2 * quarter + i) << 4;
      words.first[i] = load_shared_16((words_[0] ^ piece) + slot);
      words.second[i] = load_shared_16((words_[1] ^ piece) + slot);
    }
    return words;
  }

  // This lane's byte of a word as a pair of weights.
  __device__ __forceinline__ std::uint32_t look_up(std::uint32_t word, std::uint32_t scale) const {
    const std::uint32_t pair = load_pair(step_to_byte(word, own_byte_, table_));
    return Shape::kScaleSums ? pair : multiply_pair<kType>(pair, scale);
  }

  __device__ __forceinline__ uint4 look_up(uint4 words, std::uint32_t scale) const {
    return make_uint4(look_up(words.x, scale), look_up(words.y, scale), look_up(words.z, scale),
                      look_up(words.w, scale));
  }

  // Operand A of the four steps of a quarter, 16 inputs each.
  __device__ __forceinline__ void decode(std::uint32_t (&a)[4][4],
                                         const QuarterWords& words) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      set_row(a, i, 0, look_up(words.first[i], words.scales.x));
      set_row(a, i, 1, look_up(words.second[i], words.scales.y));
    }
  }

  // What four words hold goes to two steps.
  __device__ __forceinline__ static void set_row(std::uint32_t (&a)[4][4], int piece, int row,
                                                 uint4 pairs) {
    a[2 * piece][row] = pairs.x;
    a[2 * piece][row + 2] = pairs.y;
    a[2 * piece + 1][row] = pairs.z;
    a[2 * piece + 1][row + 2] = pairs.w;
  }

  __device__ __forceinline__ void multiply_quarter(int quarter) {
    const int slot_quarter = quarter % Shape::kSlotQuarters;
    if (slot_quarter == 0) wait_for_tokens();
    begin_products();
    multiply_block(quarter % 2, slot_quarter, quarter > 0 || adds_);
    commit_products();
  }

  // The products of 64 inputs: of one of the two A with a quarter of the slot of activations.
  __device__ __forceinline__ void multiply_block(int which, int slot_quarter, bool adds) {
    const TokenDescriptor activations = tokens_.at(tokens_at_.slot * (Shape::kTokenSlotBytes / 16) +
                                                   slot_quarter * (Shape::kQuarterBytes / 16));
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      if constexpr (Shape::kScaleSums) {
        multiply_tokens<kType>(parts_[which], weights_[which][step], activations.at(2 * step),
                               step > 0);
      } else {
        multiply_tokens<kType>(sums_, weights_[which][step], activations.at(2 * step),
                               step > 0 || adds);
      }
    }
  }

  // Adds sums over a block, times its scales.
  __device__ __forceinline__ void add_block(int part, uint2 scales) {
    hold(parts_[part]);
#pragma unroll
    for (int i = 0; i < Shape::kSums; ++i) {
      sums_[i] =
          __fmaf_rn(__uint_as_float(i % 4 < 2 ? scales.x : scales.y), parts_[part][i], sums_[i]);
    }
  }

  // Gives back the slot of weights of which `read` is mixed.
  __device__ __forceinline__ void release_weights(std::uint32_t read) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      arrive_after_reading(rings_.weights.empty(weights_at_.slot), read, zero_);
    }
    weights_at_.advance();
  }

  __device__ __forceinline__ void wait_for_tokens() {
    wait_for_phase(rings_.tokens.full(tokens_at_.slot), tokens_at_.parity);
  }

  // Goes on to the next slot of activations.
  __device__ __forceinline__ void leave_tokens() {
    release_tokens();
    leaving_slot_ = tokens_at_.slot;
    tokens_at_.advance();
  }

  // Gives back the slot of activations whose last products are done.
  __device__ __forceinline__ void release_tokens() {
    if (leaving_slot_ < 0) return;
    if (threadIdx.x % 32 == 0) arrive(rings_.tokens.empty(leaving_slot_));
    leaving_slot_ = -1;
  }

  std::uint32_t shared_;
  WgmmaRings<Shape> rings_;
  TokenDescriptor tokens_;   // of the first slot
  std::uint32_t words_[2];   // the first piece of this lane's rows, in the first slot
  std::uint32_t scales_[2];  // the first scale of its rows, likewise
  uint4 stage_scales_[2];    // all of a stage, where they are loaded together
  std::uint32_t table_;
  std::uint32_t own_byte_;  // a factor that takes this lane's byte of a word
  std::uint32_t zero_;      // as arrive_after_reading() wants it
  bool adds_ = false;       // else the next product begins the sums
  RingPosition<Shape::kWeightSlots> weights_at_;
  RingPosition<Shape::kTokenSlots> tokens_at_;
  int leaving_slot_ = -1;
  // Sums over the newest block and the one before.
  float parts_[2][Shape::kScaleSums ? Shape::kSums : 4];
  std::uint32_t weights_[2][4][4];  // A, of the newest quarter and the one before
};

#endif

}  // namespace nf4bench::kernels::cuda
