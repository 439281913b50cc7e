#pragma once

// How a block of mma_table gets its operands: stages of 128 inputs of a tile's rows and tokens,
// which copies bring into a ring in shared memory. Their scales are in ../scales/table_scales.cuh.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/layout.cuh"
#include "cuda/ptx.cuh"

namespace nf4bench::kernels::cuda {

inline constexpr int kTableWarps = 16;  // of a block
inline constexpr int kTableThreads = kTableWarps * 32;
inline constexpr int kStageInputs = 128;
inline constexpr int kRun = 32;                         // inputs that a lane has of a row's stage
inline constexpr int kStageRuns = kStageInputs / kRun;  // one for each lane of a quad
inline constexpr int kWarpRows = 32;

// What the host decides.
struct TableShape {
  int slots;       // stages that the ring holds
  int span_shift;  // log2 of how many inputs of a row always share a scale, up to a stage
};

// The first row and the first token of a tile.
struct TileOrigin {
  int row;
  int token;
};

// kRagged: rows begin and blocks end anywhere. Else each 32 inputs of a row lie in one block and
// begin at a multiple of 16 bytes. kRowWarps: warps beside each other; the others do other inputs
// of the same rows.
template <bool kIsRagged, int kWarpsOfRows, int kEightsOfTokens>
struct TableTraits {
  static constexpr bool kRagged = kIsRagged;
  static constexpr int kRowWarps = kWarpsOfRows;
  static constexpr int kDepths = kTableWarps / kRowWarps;
  static constexpr int kRows = kRowWarps * kWarpRows;  // of a tile
  static constexpr int kEights = kEightsOfTokens;
  static constexpr int kTokens = 8 * kEights;
  static constexpr int kPieces = kRows * kTokens / 4;  // of 16 bytes, a tile's sums
  // A ragged row begins within its first 16 bytes.
  static constexpr int kRowPieces = kStageRuns + (kRagged ? 1 : 0);
  static constexpr int kRowBytes = kRowPieces * 16;
  static constexpr int kTokenBytes = kStageInputs * 2;
  static constexpr int kScaleFloats = kRagged ? 2 : 1;  // of a run: a block may end within
};

// Where things lie in dynamic shared memory, in bytes.
template <class Traits>
struct TableLayout {
  static constexpr int kPairs = 0;  // 256 pairs of float32, 16 copies
  // The nested map, which ragged tiles, for which Turing has no more room, read from memory.
  static constexpr int kMap = kPairs + 256 * 16 * 8;
  static constexpr int kScales = kMap + (Traits::kRagged ? 0 : 1024);  // of two stages
  static constexpr int kScaleBytes = Traits::kRows * kStageRuns * Traits::kScaleFloats * 4;
  static constexpr int kRing = kScales + 2 * kScaleBytes;
  static constexpr int kTokens = Traits::kRows * Traits::kRowBytes;  // in a slot
  static constexpr int kSlotBytes = kTokens + Traits::kTokens * Traits::kTokenBytes;

  static constexpr int bytes(int slots) { return kRing + slots * kSlotBytes; }
  static constexpr bool kFitsTuring = bytes(2) <= 64 << 10;
};

template <class Value>
__device__ __forceinline__ int clamped(Value value, int most) {
  return static_cast<int>(value < 0 ? 0 : value < most ? value : most);
}

// Fills slots with the stages of a tile, one after the other. All threads of the block copy, and
// each commits its own. Rows and tokens beyond the last are the last ones again: what is multiplied
// with them goes nowhere.
template <class Traits>
class StageCopies {
 public:
  __device__ __forceinline__ StageCopies(const Job& job, TileOrigin tile, int stage)
      : job_(job), tile_(tile) {
    const int row = tile.row + static_cast<int>(threadIdx.x) / kStageRuns;
    const int token = tile.token + static_cast<int>(threadIdx.x) / kTokenPieces;
    const int column = stage * kStageInputs;
    codes_ = job.packed + (last_or(row, job.outputs) * job.inputs + column) / 2 +
             threadIdx.x % kStageRuns * 16;
    values_ = static_cast<const std::uint16_t*>(job.input) +
              last_or(token, job.tokens) * job.inputs + column + threadIdx.x % kTokenPieces * 8;
    code_step_ = step(row, kRowStep, job.outputs) / 2;
    value_step_ = step(token, kTokenStep, job.tokens);
  }

  __device__ __forceinline__ void copy_next(int stage, std::uint32_t slot) {
    if constexpr (Traits::kRagged) {
      copy_ragged_codes(stage * kStageInputs, slot);
    } else {
      copy_codes(stage * kStageInputs, slot);
    }
    copy_tokens(stage * kStageInputs, slot + TableLayout<Traits>::kTokens);
  }

 private:
  static constexpr int kRowStep = kTableThreads / kStageRuns;
  static_assert(Traits::kRows <= 2 * kRowStep);
  static constexpr int kCodeCopies = Traits::kRagged ? 0 : Traits::kRows / kRowStep;
  static constexpr int kTokenPieces = kStageInputs / 8;
  static constexpr int kTokenStep = kTableThreads / kTokenPieces;
  static constexpr int kTokenCopies = (Traits::kTokens + kTokenStep - 1) / kTokenStep;
  static_assert(kTokenCopies <= 2);

  __device__ __forceinline__ static std::int64_t last_or(int index, std::int64_t count) {
    return index < count ? index : count - 1;
  }

  // Elements from a row or token to the one `count` further down, or the last.
  __device__ __forceinline__ std::uint32_t step(int index, int count, std::int64_t all) const {
    return static_cast<std::uint32_t>(last_or(index + count, all) - last_or(index, all)) *
           static_cast<std::uint32_t>(job_.inputs);
  }

  __device__ __forceinline__ void copy_codes(int column, std::uint32_t target) {
    const int first = static_cast<int>(threadIdx.x) / kStageRuns;
    const int run = threadIdx.x % kStageRuns;
    const bool inside = column + run * kRun < job_.inputs;
    const std::uint32_t place = target + first * Traits::kRowBytes + run_place(first, run) * 16;
#pragma unroll
    for (int i = 0; i < kCodeCopies; ++i) {
      copy_async_by_line(place + i * kRowStep * Traits::kRowBytes,
                         inside ? codes_ + i * code_step_ : job_.packed, inside);
    }
    codes_ += kStageInputs / 2;
  }

  __device__ __forceinline__ void copy_ragged_codes(int column, std::uint32_t target) const {
#pragma unroll 1
    for (int i = threadIdx.x; i < Traits::kRows * Traits::kRowPieces; i += kTableThreads) {
      const std::int64_t row = last_or(tile_.row + i / Traits::kRowPieces, job_.outputs);
      const std::int64_t byte = ((row * job_.inputs + column) / kRun + i % Traits::kRowPieces) * 16;
      const int valid = clamped(packed_bytes(job_.elements) - byte, 16);
      const bool whole = valid == 16;
      if (valid == 0 || whole) {
        copy_async_by_line(target + i * 16, whole ? job_.packed + byte : job_.packed, whole);
      } else {
        copy_last_bytes(target + i * 16, job_.packed + byte, valid);
      }
    }
  }

  // The end of the weight where it is no whole piece, and zeros.
  __device__ __forceinline__ static void copy_last_bytes(std::uint32_t target,
                                                         const std::uint8_t* source, int valid) {
    std::uint32_t words[4] = {};
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      if (i < valid) words[i / 4] |= std::uint32_t{__ldg(source + i)} << (8 * (i % 4));
    }
    store_shared_16(target, make_uint4(words[0], words[1], words[2], words[3]));
  }

  __device__ __forceinline__ void copy_tokens(int column, std::uint32_t target) {
    const int first = static_cast<int>(threadIdx.x) / kTokenPieces;
    if (Traits::kTokens < kTokenStep && first >= Traits::kTokens) return;
    const int piece = threadIdx.x % kTokenPieces;
    const int left = clamped(static_cast<int>(job_.inputs) - column - piece * 8, 8);
    const std::uint32_t place =
        target + first * Traits::kTokenBytes + token_place(first, piece) * 16;
#pragma unroll
    for (int i = 0; i < kTokenCopies; ++i) {
      copy_eight(
          place + i * kTokenStep * Traits::kTokenBytes,
          left > 0 ? values_ + i * value_step_ : static_cast<const std::uint16_t*>(job_.input),
          left);
    }
    values_ += kStageInputs;
  }

  // The first `valid` of eight activations, and zeros.
  __device__ __forceinline__ void copy_eight(std::uint32_t target, const std::uint16_t* source,
                                             int valid) const {
    if (!Traits::kRagged) return copy_async_by_line(target, source, valid > 0);
    if (job_.inputs % 4 == 0) return copy_parts<8>(target, source, valid);
    if (job_.inputs % 2 == 0) return copy_parts<4>(target, source, valid);
    std::uint32_t pairs[4] = {};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < valid) pairs[i / 2] |= std::uint32_t{__ldg(source + i)} << (16 * (i % 2));
    }
    store_shared_16(target, make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]));
  }

  template <int kBytes>
  __device__ __forceinline__ static void copy_parts(std::uint32_t target,
                                                    const std::uint16_t* source, int valid) {
    constexpr int kValues = kBytes / 2;
#pragma unroll
    for (int i = 0; i < 8; i += kValues) {
      copy_async<kBytes>(target + i * 2, i < valid ? source + i : source, i < valid);
    }
  }

  const Job& job_;
  TileOrigin tile_;
  const std::uint8_t* codes_;  // of the next stage
  const std::uint16_t* values_;
  std::uint32_t code_step_;  // bytes to this thread's second row
  std::uint32_t value_step_;
};

}  // namespace nf4bench::kernels::cuda
