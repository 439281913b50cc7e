#pragma once

// What a lane of mma_table multiplies: it decodes its fragments of the weight through the table of
// pairs.

#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/product_type.cuh"
#include "cuda/matmul/table/table_stage.cuh"

namespace nf4bench::kernels::cuda {

// A lane's sums of 32 rows: of two times 16 rows and of each eight tokens what the tensor core
// gives it, which is rows lane / 4 and 8 further down, tokens 2 (lane % 4) and the next.
template <class Traits>
using LaneSums = float[2][Traits::kEights][4];

// Eight weights of a row as four pairs of the output type. Pair i has the scale of its byte's two
// nibbles.
template <OutputType kType, class Scale>
__device__ __forceinline__ void decode_word(std::uint32_t (&pairs)[4], std::uint32_t word,
                                            std::uint32_t table, Scale scale) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint2 bits = load_shared_8(step_to_byte(word, byte_factor(i), table));
    const float first = multiply_flushed(__uint_as_float(bits.x), scale(2 * i));
    const float second = multiply_flushed(__uint_as_float(bits.y), scale(2 * i + 1));
    pairs[i] =
        kType == OutputType::kFloat16 ? pack_float16(first, second) : pack_bfloat16(first, second);
  }
}

// A stage in shared memory.
struct StageOperands {
  std::uint32_t codes;
  std::uint32_t tokens;
  std::uint32_t scales;
};

// What a lane multiplies of each stage of a tile.
template <OutputType kType, class Traits>
class LaneProducts {
 public:
  __device__ __forceinline__ LaneProducts(const Job& job, const TableShape& shape, int first_row,
                                          std::uint32_t table)
      : job_(job),
        row_(static_cast<int>(threadIdx.x) / 32 % Traits::kRowWarps * kWarpRows +
             static_cast<int>(threadIdx.x) % 32 / 4),
        t_(static_cast<int>(threadIdx.x) % 4),
        word_(lane_word(static_cast<int>(threadIdx.x) / 32 / Traits::kRowWarps, t_)),
        table_(keep(table + threadIdx.x % 16 * 8)) {
    const int token = static_cast<int>(threadIdx.x) % 32 / 4;
    values_ = keep(token * Traits::kTokenBytes + token_place(token, t_ * 4 + word_) * 16);
    if constexpr (Traits::kRagged) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        begin_[j] = static_cast<int>(static_cast<unsigned>(first_row + row_ + 8 * j) *
                                         static_cast<unsigned>(job.inputs) &
                                     (nf4::kMaxBlocksize - 1));
      }
    } else {
      codes_ = keep(row_ * Traits::kRowBytes + run_place(row_, t_) * 16 + word_ * 4);
      scales_ = keep((row_ * kStageInputs + t_ * kRun >> shape.span_shift) * 4);
      scale_step_ = (8 * kStageInputs >> shape.span_shift) * 4;
    }
  }

  __device__ __forceinline__ void multiply(LaneSums<Traits>& sums, int stage,
                                           StageOperands at) const {
    // Where a run's words are is one exclusive or from where they are in the step before.
#pragma unroll(Traits::kEights < 8 ? 2 : 1)
    for (int i = 0; i < 4 / Traits::kDepths; ++i) {
      std::uint32_t a[2][2][4];  // of 16 rows and 16 inputs
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        std::uint32_t pairs[4];
        if constexpr (Traits::kRagged) {
          decode_ragged(pairs, {stage, word_, j}, at);
        } else {
          const float scale = __uint_as_float(load_shared_4(at.scales + scales_ + j * scale_step_));
          const std::uint32_t place = (at.codes + codes_) ^ (i * kWordStep * 4);
          decode_word<kType>(pairs, load_shared_4(place + 8 * j * Traits::kRowBytes), table_,
                             [&](int) { return scale; });
        }
        a[j / 2][0][j % 2] = pairs[0];
        a[j / 2][0][2 + j % 2] = pairs[1];
        a[j / 2][1][j % 2] = pairs[2];
        a[j / 2][1][2 + j % 2] = pairs[3];
      }
      const std::uint32_t values = (at.tokens + values_) ^ (i * kWordStep * 64);
#pragma unroll
      for (int eight = 0; eight < Traits::kEights; ++eight) {
        const uint4 b = load_shared_16(values + eight * 8 * Traits::kTokenBytes);
        mma_m16n8k16<kType>(sums[0][eight], a[0][0], b.x, b.y);
        mma_m16n8k16<kType>(sums[1][eight], a[1][0], b.x, b.y);
        mma_m16n8k16<kType>(sums[0][eight], a[0][1], b.z, b.w);
        mma_m16n8k16<kType>(sums[1][eight], a[1][1], b.z, b.w);
      }
    }
  }

 private:
  // From a warp's word of a run to its next one: half a run, or it has but one.
  static constexpr int kWordStep = 2;
  static_assert(Traits::kDepths == 4 || (Traits::kDepths == 2 && !Traits::kRagged));

  struct Place {
    int stage;
    int word;
    int j;  // the lane's row: 8 j further down than its first
  };

  __device__ __forceinline__ void decode_ragged(std::uint32_t (&pairs)[4], Place place,
                                                StageOperands at) const {
    const int row = row_ + 8 * place.j;
    const int begin = begin_[place.j];
    const std::uint32_t first =
        at.codes + row * Traits::kRowBytes + (begin % kRun / 8 + t_ * 4 + place.word) * 4;
    const std::uint32_t codes =
        shift_nibbles(load_shared_4(first), load_shared_4(first + 4), begin % 8);
    const uint2 bits = load_shared_8(at.scales + (row * kStageRuns + t_) * 8);
    const float scales[2] = {__uint_as_float(bits.x), __uint_as_float(bits.y)};
    const int column = place.stage * kStageInputs + t_ * kRun;
    const int blocksize = 1 << job_.block_shift;
    // Weights of the word that are still in the first of its run's blocks.
    const int in_first = blocksize - ((begin + column) & (blocksize - 1)) - place.word * 8;
    decode_word<kType>(pairs, codes, table_,
                       [&](int i) { return i < in_first ? scales[0] : scales[1]; });
    // What follows the row is the next one's, whose scales may be no numbers.
    if ((place.stage + 1) * kStageInputs <= job_.inputs) return;
    const int left = static_cast<int>(job_.inputs) - column - place.word * 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (2 * i + 1 >= left) pairs[i] &= 0xffffu;
      if (2 * i >= left) pairs[i] = 0;
    }
  }

  // Eight nibbles from the `count`-th of two words on; the first nibble of a byte is its high one.
  __device__ __forceinline__ static std::uint32_t shift_nibbles(std::uint32_t first,
                                                                std::uint32_t second, int count) {
    const std::uint32_t shifted =
        __funnelshift_l(__byte_perm(second, 0, 0x0123), __byte_perm(first, 0, 0x0123), 4 * count);
    return __byte_perm(shifted, 0, 0x0123);
  }

  const Job& job_;
  int row_;  // in the tile, its first
  int t_;    // in its quad
  int word_;
  std::uint32_t table_;
  std::uint32_t values_;  // its first piece of a slot's tokens
  std::uint32_t codes_ = 0;
  std::uint32_t scales_ = 0;
  std::uint32_t scale_step_ = 0;
  int begin_[4];  // where in the largest block each of its rows begins
};

}  // namespace nf4bench::kernels::cuda
