#pragma once

// The scales of a stage of 256 inputs, of a lane's rows: four blocks of 64 of each.

#include "cuda/arithmetic.cuh"
#include "variant.hpp"

namespace nf4bench::kernels::cuda {

// How the scales of a stage of a row are stored: as four codes in a word or over two of them, as
// four float32 in 16 bytes, or anyhow.
enum class StageScales { kCodes, kCodesOfTwoWords, kValues, kAny };

inline StageScales stage_scales(const Problem& problem) {
  if (problem.block_shift != 6) return StageScales::kAny;
  const bool has_whole_stages = problem.inputs % 256 == 0;
  if (!problem.nested) return has_whole_stages ? StageScales::kValues : StageScales::kAny;
  // Codes are read 16 or four at once, the last ones, too.
  if (has_whole_stages && problem.elements % 1024 == 0) return StageScales::kCodes;
  return problem.elements % 256 == 0 ? StageScales::kCodesOfTwoWords : StageScales::kAny;
}

// Where a lane's rows are, in a stage of 256 inputs.
struct LaneStage {
  int first_row;
  int row_step;  // from a row to the next
  int stage;
  bool begins_tile;
};

// The i-th row of a lane; beyond the last row that one stands in.
__device__ __forceinline__ int existing_row(const Job& job, LaneStage at, int i) {
  return min(at.first_row + at.row_step * i, static_cast<int>(job.outputs) - 1);
}

// The scales of four blocks of each row of a lane. load() asks for them before they are worked out,
// if they are so few bytes that they find registers.
template <StageScales kKind, int kRows>
struct LoadedScales;

// 16 codes are read at once, those of up to four stages: each row's lie in a line of memory of its
// own, and four would take as long.
template <int kRows>
struct LoadedScales<StageScales::kCodes, kRows> {
  uint4 codes[kRows];
  float absmax[kRows];

  // Which word of all codes has those of the stage.
  __device__ __forceinline__ static unsigned word_of(const Job& job, LaneStage at, int i) {
    return existing_row(job, at, i) * (static_cast<unsigned>(job.inputs) / 256) + at.stage;
  }

  __device__ __forceinline__ void load(const Job& job, LaneStage at) {
    const auto* fours = reinterpret_cast<const uint4*>(job.absmax_codes);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const unsigned word = word_of(job, at, i);
      if (!at.begins_tile && word % 4 != 0) continue;
      codes[i] = __ldg(fours + word / 4);
      absmax[i] = __ldg(job.nested_absmax + word / 64);
    }
  }

  // Calls use(row, four scales) for all rows.
  template <class Use>
  __device__ __forceinline__ void for_each(const Job& job, const NestedMap& nested, LaneStage at,
                                           Use use) const {
    // Two rows at once, for what use() stores may not move ahead of a read of the map.
#pragma unroll
    for (int i = 0; i < kRows; i += 2) {
      float4 scales[2];
#pragma unroll
      for (int k = 0; k < 2 && i + k < kRows; ++k) {
        const std::uint32_t word = select(codes[i + k], word_of(job, at, i + k) % 4);
        const auto scale = [&](int block) {
          return nested.scale(__byte_perm(word, 0, 0x4440 | block), absmax[i + k]);
        };
        scales[k] = make_float4(scale(0), scale(1), scale(2), scale(3));
      }
#pragma unroll
      for (int k = 0; k < 2 && i + k < kRows; ++k) use(i + k, scales[k]);
    }
  }

 private:
  __device__ __forceinline__ static std::uint32_t select(const uint4& words, unsigned which) {
    const std::uint32_t lower = which % 2 == 0 ? words.x : words.y;
    const std::uint32_t upper = which % 2 == 0 ? words.z : words.w;
    return which < 2 ? lower : upper;
  }
};

template <int kRows>
struct LoadedScales<StageScales::kCodesOfTwoWords, kRows> {
  std::uint32_t codes[kRows][2];
  float absmax[kRows][2];  // of the first code, and of those behind a boundary

  __device__ __forceinline__ static unsigned first_block(const Job& job, LaneStage at, int i) {
    return existing_row(job, at, i) * (static_cast<unsigned>(job.inputs) / 64) + at.stage * 4u;
  }

  __device__ __forceinline__ void load(const Job& job, LaneStage at) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(job.absmax_codes);
    const auto last_block = static_cast<unsigned>(job.elements / 64 - 1);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const unsigned block = first_block(job, at, i);
      codes[i][0] = __ldg(words + block / 4);
      codes[i][1] = __ldg(words + min(block / 4 + 1, last_block / 4));
      absmax[i][0] = __ldg(job.nested_absmax + block / 256);
      absmax[i][1] = __ldg(job.nested_absmax + min(block / 256 + 1, last_block / 256));
    }
  }

  template <class Use>
  __device__ __forceinline__ void for_each(const Job& job, const NestedMap& nested, LaneStage at,
                                           Use use) const {
    // As in LaneScales, the last block stands in beyond the end of a row.
    const unsigned last = static_cast<unsigned>(job.inputs) / 64 - 1 - at.stage * 4u;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const unsigned block = first_block(job, at, i);
      const auto scale = [&](unsigned k) {
        k = min(k, last);
        const std::uint32_t code = __byte_perm(codes[i][0], codes[i][1], block % 4 + k) & 0xffu;
        return nested.scale(code, block % 256 + k < 256 ? absmax[i][0] : absmax[i][1]);
      };
      use(i, make_float4(scale(0), scale(1), scale(2), scale(3)));
    }
  }
};

template <int kRows>
struct LoadedScales<StageScales::kValues, kRows> {
  float4 values[kRows];

  __device__ __forceinline__ void load(const Job& job, LaneStage at) {
    const auto* fours = reinterpret_cast<const float4*>(job.absmax);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      values[i] = __ldg(
          fours + existing_row(job, at, i) * (static_cast<unsigned>(job.inputs) / 256) + at.stage);
    }
  }

  template <class Use>
  __device__ __forceinline__ void for_each(const Job&, const NestedMap&, LaneStage, Use use) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) use(i, values[i]);
  }
};

template <int kRows>
struct LoadedScales<StageScales::kAny, kRows> {
  __device__ __forceinline__ void load(const Job&, LaneStage) {}

  template <class Use>
  __device__ __forceinline__ void for_each(const Job& job, const NestedMap&, LaneStage at,
                                           Use use) const {
    const auto row_blocks = static_cast<unsigned>(job.inputs / 64);
#pragma unroll 1
    for (int i = 0; i < kRows; ++i) {
      const unsigned row = existing_row(job, at, i) * row_blocks;
      const auto scale = [&](unsigned k) {
        // As in LaneScales, the last block stands in beyond the end of a row.
        const unsigned in_row = min(at.stage * 4u + k, row_blocks - 1);
        const unsigned block = (row + in_row) >> (job.block_shift - 6);
        return job.nested ? block_scale<true>(job, block) : block_scale<false>(job, block);
      };
      use(i, make_float4(scale(0), scale(1), scale(2), scale(3)));
    }
  }
};

}  // namespace nf4bench::kernels::cuda
