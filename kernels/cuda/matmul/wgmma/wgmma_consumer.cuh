#pragma once

// Multiplies by the products of warpgroups: A from registers, B from shared memory.
//
// With activations as they lie in memory lane t of a quad has to multiply, of each four packed
// bytes, the t-th: all lanes of a quad read the same words. With regrouped ones each has bytes of
// its own. It looks them up in a table of pairs of codebook values. A quarter of a stage is a block
// of 64 weights. With few tokens the tensor cores sum over it and its scale is multiplied with that
// sum in float32; with many tokens, whose sums are too many, with the weights. While the tensor
// cores multiply a quarter, the next one is decoded.

#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/wgmma/epilogue.cuh"
#include "cuda/matmul/wgmma/operands.cuh"
#include "cuda/matmul/wgmma/wgmma.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Which stages have regrouped activations: none, those after the first kPlainStages of all, or all.
enum class Regrouping { kNone, kAfterPlain, kAll };

template <class Shape, Regrouping kRegrouping, OutputType kType>
class WgmmaConsumer {
 public:
  __device__ __forceinline__ explicit WgmmaConsumer(std::uint8_t* shared)
      : shared_(shared_address(shared)), rings_(shared_), tokens_(shared_ + Shape::kActivations) {
    if constexpr (Shape::kTransposed) {
      const auto lane_of_warp = static_cast<int>(threadIdx.x % 32);
      const auto rows = static_cast<int>(threadIdx.x / 64);  // 32 of them
      words_[0] =
          keep(shared_ + Shape::kWeights + transposed_place<Shape::kGroups>(lane_of_warp, rows));
      scales_[0] = keep(shared_ + Shape::kScales + threadIdx.x / 128 * kGroupScaleBytes +
                        transposed_scale_place(0, lane_of_warp % 4));
      pick_ = keep(threadIdx.x / 32 % 2 == 0 ? 0x6240 : 0x7351);
    } else {
      const LaneRows<false> rows;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = i == 0 ? rows.first() : rows.second();
        words_[i] = keep(shared_ + Shape::kWeights + swizzled(row, 0));
        scales_[i] = keep(shared_ + Shape::kScales + row * Shape::kRowScaleBytes);
      }
    }
    table_ = keep(shared_ + Shape::kTable + threadIdx.x % 32 * 4);
    const auto lane = static_cast<int>(threadIdx.x % 4);
    own_byte_ = keep(byte_factor(lane));
    own_bytes_ = keep(lane * 8);
    zero_ = load_shared_8(shared_ + Shape::kZero).x;
  }

  // Begins a tile.
  __device__ __forceinline__ void begin_tile() {
#pragma unroll
    for (float& sum : accumulators) sum = 0.0f;
    adds_ = false;
  }

  // Until the activations of the next tile's first stage are there.
  __device__ __forceinline__ void wait_for_tile() const {
    wait_for_phase(rings_.tokens.full(tokens_at_.slot), tokens_at_.parity);
  }

  // Multiplies so many stages, and then the `rest` quarters of one that ends within it, if any.
  // `arrives`: at the cluster's barrier, before the last stage of all.
  __device__ __forceinline__ void multiply(int stages, int rest, bool arrives) {
    if constexpr (!Shape::kArrivesEarly) {
      multiply_first<Shape::kTokens>(stages, rest);
    } else {
      // To ask in each stage would take 1 % longer.
      const int kept = rest > 0 ? 0 : 1;
      if (arrives) stages -= kept;
#pragma unroll 1
      while (true) {
        multiply_stages<Shape::kTokens>(stages, arrives ? 0 : rest);
        if (!arrives) return;
        arrive_at_cluster();
        stages = kept;
        arrives = false;
      }
    }
  }

  // The same for the first kCount tokens of a tile alone, where weights are scaled. What a token's
  // sums are does not depend on it.
  template <int kCount>
  __device__ __forceinline__ void multiply_first(int stages, int rest) {
    static_assert(kCount == Shape::kTokens || !Shape::kScaleSums);
    if constexpr (Shape::kEndsEarly) {
      multiply_stages<kCount>(stages, rest);
    } else {
      if (rest > 0) ++stages;
      do {
        multiply_stage<kRegrouping == Regrouping::kAll, kCount>();
      } while (--stages > 0);
    }
  }

  // Waits for what is still under way. The accumulators are whole then.
  __device__ __forceinline__ void finish_tile() {
    finish_first<Shape::kTokens>();
  }
  template <int kCount>
  __device__ __forceinline__ void finish_first() {
    wait_for_products<0>();
    hold(reinterpret_cast<float(&)[kCount / 2]>(accumulators));
    release_tokens();
  }

  float accumulators[Shape::kSums];

 private:
  // Whether plain words are loaded a quarter ahead, and all scales of a stage together. With more
  // tokens there are no registers for it.
  static constexpr bool kLoadsEarly = Shape::kTokens <= 32;

  template <bool kRegrouped>
  using Words = std::conditional_t<Shape::kTransposed, NoWords, QuarterWords<kRegrouped>>;

  template <int kCount>
  __device__ __forceinline__ void multiply_stages(int stages, int rest) {
    if constexpr (kRegrouping == Regrouping::kAfterPlain) {
      for (; stages > 0 && plain_stages_ > 0; --stages, --plain_stages_)
        multiply_stage<false, kCount>();
      for (; stages > 0; --stages) multiply_stage<true, kCount>();
      if (rest > 0 && plain_stages_ > 0) {
        multiply_rest<false, kCount>(rest);
        --plain_stages_;
      } else if (rest > 0) {
        multiply_rest<true, kCount>(rest);
      }
    } else {
      constexpr bool kRegrouped = kRegrouping == Regrouping::kAll;
      for (; stages > 0; --stages) multiply_stage<kRegrouped, kCount>();
      if (rest > 0) multiply_rest<kRegrouped, kCount>(rest);
    }
  }

  template <bool kRegrouped, int kCount>
  __device__ __forceinline__ void multiply_stage() {
    wait_for_phase(rings_.weights.full(weights_at_.slot), weights_at_.parity);
    constexpr bool kWordsEarly = kRegrouped || kLoadsEarly;
    Words<kRegrouped> words = load_quarter<kRegrouped>(0);
    Words<kRegrouped> next = {};
    uint2 scales_before = {};
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {
      if (kWordsEarly && quarter < 3) next = load_quarter<kRegrouped>(quarter + 1);
      decode(weights_[quarter % 2], words, quarter);
      const uint2 scales = words.scales;
      const std::uint32_t read = words.mix();
      multiply_quarter<kCount>(quarter);
      if (!kWordsEarly && quarter < 3) next = load_quarter<kRegrouped>(quarter + 1);
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

  template <bool kRegrouped, int kCount>
  __device__ __forceinline__ void multiply_rest(int quarters) {
    wait_for_products<0>();
    release_tokens();
    wait_for_phase(rings_.weights.full(weights_at_.slot), weights_at_.parity);
    std::uint32_t read = 0;
#pragma unroll 1
    for (int quarter = 0; quarter < quarters; ++quarter) {
      const int slot_quarter = quarter % Shape::kSlotQuarters;
      if (slot_quarter == 0) wait_for_tokens();
      Words<kRegrouped> words = load_words<kRegrouped>(quarter);
      if constexpr (Shape::kTransposed) {
        // decode() loads them.
      } else if constexpr (Shape::kScaleSums) {
        words.scales = make_uint2(load_shared_4(scale_address(0) + quarter * 4),
                                  load_shared_4(scale_address(1) + quarter * 4));
      } else {
        words.scales = make_uint2(pair_of(load_shared_8(scale_address(0)), quarter),
                                  pair_of(load_shared_8(scale_address(1)), quarter));
      }
      read |= words.mix();
      decode(weights_[0], words, quarter);
      begin_products();
      multiply_block<kCount>(0, slot_quarter, adds_);
      commit_products();
      wait_for_products<0>();
      if constexpr (Shape::kScaleSums) {
        add_block(0, words.scales);
      } else {
        hold(reinterpret_cast<float(&)[kCount / 2]>(accumulators));
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
    } else if constexpr (Shape::kScaleSums) {
      return load_shared_4(scale_address(row) + quarter * 4);
    } else {
      if (quarter == 0) pair_scales_[row] = load_shared_8(scale_address(row));
      return pair_of(pair_scales_[row], quarter);
    }
  }

  // The quarter-th of four 16-bit values, twice.
  __device__ __forceinline__ static std::uint32_t pair_of(uint2 values, int quarter) {
    return __byte_perm(quarter < 2 ? values.x : values.y, 0, quarter % 2 == 0 ? 0x1010 : 0x3232);
  }

  __device__ __forceinline__ std::uint32_t scale_address(int row) const {
    return scales_[row] + weights_at_.slot * Shape::kScaleSlotBytes;
  }

  template <bool kRegrouped>
  __device__ __forceinline__ Words<kRegrouped> load_quarter(int quarter) {
    Words<kRegrouped> words = load_words<kRegrouped>(quarter);
    if constexpr (!Shape::kTransposed) {
      words.scales = make_uint2(load_scale(0, quarter), load_scale(1, quarter));
    }
    return words;
  }

  template <bool kRegrouped>
  __device__ __forceinline__ Words<kRegrouped> load_words(int quarter) const {
    const std::uint32_t slot = weights_at_.slot * Shape::kWeightSlotBytes;
    Words<kRegrouped> words;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      if constexpr (Shape::kTransposed) {
        // decode() does.
      } else if constexpr (kRegrouped) {
        const uint2 own = load_shared_8((words_[row] ^ (quarter << 5 ^ own_bytes_)) + slot);
        words.rows[row][0] = own.x;
        words.rows[row][1] = own.y;
      } else {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const uint4 piece = load_shared_16((words_[row] ^ (2 * quarter + i) << 4) + slot);
          words.rows[row][4 * i] = piece.x;
          words.rows[row][4 * i + 1] = piece.y;
          words.rows[row][4 * i + 2] = piece.z;
          words.rows[row][4 * i + 3] = piece.w;
        }
      }
    }
    return words;
  }

  // Operand A of the four steps of a quarter, 16 inputs each: this lane's bytes as pairs of
  // weights. Of one that lies transposed it loads words and scales, too: with the most tokens there
  // are no registers to do so earlier.
  __device__ __forceinline__ void decode(std::uint32_t (&a)[4][4], NoWords, int quarter) const {
    const std::uint32_t scales = scale_address(0) + transposed_scale_place(quarter, 0);
    const std::uint32_t first = words_[0] + weights_at_.slot * Shape::kWeightSlotBytes +
                                quarter * 64 * Shape::kGroups * kTransposedRowBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t words[4];
      load_matrices(words, first + half * 32 * Shape::kGroups * kTransposedRowBytes);
      const PairBytes bytes(words, pick_);
      uint4 factors[kScaleFactors<kType>];
#pragma unroll
      for (int k = 0; k < kScaleFactors<kType>; ++k) {
        factors[k] = load_shared_16(scales + half * 16 + k * kFactorBytes);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int row = 0; row < 2; ++row) {
          const std::uint32_t four = row == 0 ? bytes.first : bytes.second;
          std::uint32_t pair = load_constant_4(step_to_byte(four, byte_factor(i), table_));
#pragma unroll
          for (const uint4& all : factors) {
            const std::uint32_t each[4] = {all.x, all.y, all.z, all.w};
            pair = multiply_pair<kType>(pair, each[i]);
          }
          a[half * 2 + i / 2][i % 2 * 2 + row] = pair;
        }
      }
    }
  }

  template <bool kRegrouped>
  __device__ __forceinline__ void decode(std::uint32_t (&a)[4][4],
                                         const QuarterWords<kRegrouped>& words, int) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int row = 0; row < 2; ++row) {
        const std::uint32_t word = words.rows[row][kRegrouped ? i / 4 : i];
        const std::uint32_t factor = kRegrouped ? byte_factor(i % 4) : own_byte_;
        const std::uint32_t pair = load_constant_4(step_to_byte(word, factor, table_));
        a[i / 2][i % 2 * 2 + row] =
            Shape::kScaleSums
                ? pair
                : multiply_pair<kType>(pair, row == 0 ? words.scales.x : words.scales.y);
      }
    }
  }

  template <int kCount>
  __device__ __forceinline__ void multiply_quarter(int quarter) {
    const int slot_quarter = quarter % Shape::kSlotQuarters;
    if (slot_quarter == 0) wait_for_tokens();
    begin_products();
    multiply_block<kCount>(quarter % 2, slot_quarter, quarter > 0 || adds_);
    commit_products();
  }

  // The products of 64 inputs: of one of the two A with a quarter of the slot of activations.
  template <int kCount>
  __device__ __forceinline__ void multiply_block(int which, int slot_quarter, bool adds) {
    const TokenDescriptor activations = tokens_.at(tokens_at_.slot * (Shape::kTokenSlotBytes / 16) +
                                                   slot_quarter * (Shape::kQuarterBytes / 16));
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      if constexpr (Shape::kScaleSums) {
        wgmma<kType>(block_sums_[which], weights_[which][step], activations.at(2 * step).bits(),
                     step > 0);
      } else {
        wgmma<kType>(reinterpret_cast<float(&)[kCount / 2]>(accumulators), weights_[which][step],
                     activations.at(2 * step).bits(), step > 0 || adds);
      }
    }
  }

  // Adds sums over a block, times its scales.
  __device__ __forceinline__ void add_block(int part, uint2 scales) {
    hold(block_sums_[part]);
#pragma unroll
    for (int i = 0; i < Shape::kSums; ++i) {
      accumulators[i] = __fmaf_rn(__uint_as_float(i % 4 < 2 ? scales.x : scales.y),
                                  block_sums_[part][i], accumulators[i]);
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
  uint4 stage_scales_[2];    // all of a stage: as float32, where they are loaded together,
  uint2 pair_scales_[2];     // or as 16-bit values
  std::uint32_t table_;
  std::uint32_t own_byte_;   // a factor that takes this lane's byte of a word
  std::uint32_t own_bytes_;  // where its bytes of 64 regrouped inputs lie
  std::uint32_t pick_;       // as PairBytes wants it
  std::uint32_t zero_;       // as arrive_after_reading() wants it
  bool adds_ = false;        // else the next product begins the sums
  RingPosition<Shape::kWeightSlots> weights_at_;
  RingPosition<Shape::kTokenSlots> tokens_at_;
  int leaving_slot_ = -1;
  int plain_stages_ = Shape::kPlainStages;  // of the block, that are left
  // Sums over the newest block and the one before.
  float block_sums_[2][Shape::kScaleSums ? Shape::kSums : 4];
  std::uint32_t weights_[2][4][4];  // A, of the newest quarter and the one before
};

#endif

}  // namespace nf4bench::kernels::cuda
