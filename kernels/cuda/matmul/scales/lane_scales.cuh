#pragma once

// The scales that a lane needs of a unit, which is a few boxes side by side: of two rows, the block
// of 64 that is its own in each box. Loaded in one step and worked out in another, so that the
// first can be long before the second.

#include "cuda/arithmetic.cuh"
#include "variant.hpp"

namespace nf4bench::kernels::cuda {

// How scales are stored. kPacked: as nested codes that can be read four at a time, because the
// blocksize is 64 and units begin at multiples of their size, in rows that are such multiples.
enum class ScaleKind { kPlain, kNested, kPacked };

inline ScaleKind scale_kind(const Problem& problem, int unit_boxes) {
  if (!problem.nested) return ScaleKind::kPlain;
  const bool packed = problem.block_shift == 6 && problem.inputs % (256 * unit_boxes) == 0;
  return packed ? ScaleKind::kPacked : ScaleKind::kNested;
}

// A unit's boxes in two rows. `box` is the first.
struct UnitRows {
  int first;
  int second;
  int box;
};

template <ScaleKind kKind, int kBoxes>
class LaneScales {
 public:
  // Beyond the end of a row the last block stands in: the activations there are zero, so that only
  // whether the scale is finite matters, and that the row's result tells anyway.
  __device__ __forceinline__ void load(const Job& job, UnitRows unit) {
    const int row_blocks = static_cast<int>(job.inputs / 64);
    const int shift = job.block_shift - 6;
    const int quad_lane = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < kBoxes; ++i) {
      const int block = min((unit.box + i) * 4 + quad_lane, row_blocks - 1);
      load_one(job, static_cast<unsigned>(unit.first * row_blocks + block) >> shift, i, 0);
      load_one(job, static_cast<unsigned>(unit.second * row_blocks + block) >> shift, i, 1);
    }
  }

  // The scale of row 0 or 1 in box `i`.
  __device__ __forceinline__ float scale(const NestedMap& map, int i, int row) const {
    if constexpr (kKind == ScaleKind::kNested) {
      return map.scale(codes_[i][row], values_[i][row]);
    } else {
      return values_[i][row];
    }
  }

 private:
  __device__ __forceinline__ void load_one(const Job& job, unsigned block, int i, int row) {
    if constexpr (kKind == ScaleKind::kNested) {
      codes_[i][row] = __ldg(job.absmax_codes + block);
      values_[i][row] = __ldg(job.nested_absmax + (block >> 8));
    } else {
      values_[i][row] = __ldg(job.absmax + block);
    }
  }

  std::uint32_t codes_[kBoxes][2];
  float values_[kBoxes][2];
};

// Lane t of a quad reads the codes of box t, the four of them all lanes' own.
template <int kBoxes>
class LaneScales<ScaleKind::kPacked, kBoxes> {
 public:
  __device__ __forceinline__ void load(const Job& job, UnitRows unit) {
    const unsigned row_blocks = static_cast<unsigned>(job.inputs) / 64;
    // The last slice of a row may have units beyond its end: the last unit stands in.
    const unsigned block = min(unit.box * 4u, row_blocks - 4 * kBoxes);
    const unsigned first = unit.first * row_blocks + block;
    const unsigned second = unit.second * row_blocks + block;
    const auto* codes = reinterpret_cast<const std::uint32_t*>(job.absmax_codes);
    const unsigned own = threadIdx.x % kBoxes;
    codes_[0] = __ldg(codes + first / 4 + own);
    codes_[1] = __ldg(codes + second / 4 + own);
    values_[0] = __ldg(job.nested_absmax + first / 256);
    values_[1] = __ldg(job.nested_absmax + second / 256);
  }

  __device__ __forceinline__ float scale(const NestedMap& map, int i, int row) const {
    std::uint32_t four = codes_[row];
    if constexpr (kBoxes > 1) four = __shfl_sync(0xffffffffu, four, i, 4);
    const std::uint32_t code = __byte_perm(four, 0, 0x4440 | threadIdx.x % 4);
    return map.scale(code, values_[row]);
  }

 private:
  std::uint32_t codes_[2];
  float values_[2];
};

}  // namespace nf4bench::kernels::cuda
