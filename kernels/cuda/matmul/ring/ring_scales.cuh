#pragma once

// The scales of a stage of mma_ring, worked out by its producers.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/ring/ring_shape.hpp"
#include "cuda/matmul/scales/transposed_blocks.cuh"
#include "cuda/memory.cuh"

namespace nf4bench::kernels::cuda {

// How the scales of a stage of a row are read: as codes, 16 at once, as floats, or one by one.
enum class ScaleLayout { kCodes, kValues, kAny };

template <class Shape>
ScaleLayout ring_scales(const Problem& problem) {
  if (problem.inputs % Shape::kInputs != 0) return ScaleLayout::kAny;
  if (1 << problem.block_shift != Shape::kBlockInputs) return ScaleLayout::kAny;
  if (!problem.nested) return ScaleLayout::kValues;
  return problem.blocks % 16 == 0 ? ScaleLayout::kCodes : ScaleLayout::kAny;
}

// Whether scales may be beyond what they are multiplied in. In float16 they must be in its range,
// and what is less than its least normal number loses digits.
template <OutputType kType, ScaleTarget kTarget>
inline constexpr bool kMayBeWide = kTarget == ScaleTarget::kWeights&& kType == OutputType::kFloat16;

__device__ __forceinline__ bool is_float16_scale(float scale) {
  const float magnitude = fabsf(scale);
  return scale == 0.0f || (magnitude >= 0x1p-14f && magnitude <= 0x1p15f);
}

// The scales of a thread's rows in the stage to come, asked for before they are worked out. Its
// rows are every kProducers-th.
template <class Shape>
class RingScales {
 public:
  __device__ __forceinline__ RingScales(const Job& job, ScaleLayout layout, const float* map,
                                        int first_row)
      : job_(job),
        layout_(layout),
        nested_{map, job.nested ? nested_offset(job) : 0.0f},
        first_row_(first_row) {}

  // Asks for those of a stage.
  template <class Walk>
  __device__ __forceinline__ void load(const Walk& walk, bool begins_tile) {
    own_row_ = walk.row_at(first_row_);
    row_step_ = walk.step_of(Shape::kProducers);
    stage_ = walk.stage();
    if (layout_ == ScaleLayout::kAny) return;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const unsigned unit = unit_of(i);
      if (layout_ == ScaleLayout::kCodes) {
        if (!begins_tile && unit % kHeldUnits != 0) continue;
        bits_[i][0] = __ldg(reinterpret_cast<const uint4*>(job_.absmax_codes) + unit / kHeldUnits);
        absmax_[i] = __ldg(job_.nested_absmax + unit / (256 / kBlocks));
      } else if constexpr (kBlocks == 2) {
        const uint2 two = __ldg(reinterpret_cast<const uint2*>(job_.absmax) + unit);
        bits_[i][0] = make_uint4(two.x, two.y, 0, 0);
      } else {
#pragma unroll
        for (int four = 0; four < kBlocks / 4; ++four) {
          bits_[i][four] =
              __ldg(reinterpret_cast<const uint4*>(job_.absmax) + unit * (kBlocks / 4) + four);
        }
      }
    }
  }

  // Stores them `factor` times as large: row r's of block b at float b * Shape::kRows + r. Returns
  // whether all are in the range of float16.
  __device__ __forceinline__ bool store(std::uint8_t* at, float factor) const {
    auto* const values = reinterpret_cast<float*>(at);
    bool in_range = true;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = first_row_ + i * Shape::kProducers;
      if (Shape::kRows % Shape::kProducers != 0 && row >= Shape::kRows) continue;
      float scales[kBlocks];
      work_out(scales, i);
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        const float scaled = scales[b] * factor;
        in_range = in_range && is_float16_scale(scaled);
        values[b * Shape::kRows + row] = scaled;
      }
    }
    return in_range;
  }

 private:
  static constexpr int kBlocks = Shape::kStageBlocks;
  static constexpr int kCodeWords = (kBlocks + 3) / 4;
  static constexpr unsigned kHeldUnits = 16 / kBlocks;  // stages of which codes are read at once
  static constexpr int kRows = (Shape::kRows + Shape::kProducers - 1) / Shape::kProducers;

  // Beyond the last row that one stands in.
  __device__ __forceinline__ unsigned row_of(int i) const {
    return min(own_row_ + i * row_step_, static_cast<int>(job_.outputs) - 1);
  }

  __device__ __forceinline__ unsigned unit_of(int i) const {
    return row_of(i) * (static_cast<unsigned>(job_.inputs) / Shape::kInputs) + stage_;
  }

  __device__ __forceinline__ void work_out(float (&scales)[kBlocks], int i) const {
    constexpr int kBlockShift = Shape::kBlockInputs == 64 ? 6 : 5;
    if (layout_ == ScaleLayout::kAny) {
      const auto row_blocks = static_cast<unsigned>(job_.inputs) >> kBlockShift;
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        // Beyond the end of a row the last block stands in: the activations there are zero.
        const unsigned block = min(stage_ * kBlocks + b, row_blocks - 1);
        const unsigned index = (row_of(i) * row_blocks + block) >> (job_.block_shift - kBlockShift);
        scales[b] = job_.nested ? block_scale<true>(job_, index) : block_scale<false>(job_, index);
      }
    } else if (layout_ == ScaleLayout::kValues) {
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        const uint4 four = bits_[i][b / 4];
        const std::uint32_t words[4] = {four.x, four.y, four.z, four.w};
        scales[b] = __uint_as_float(words[b % 4]);
      }
    } else {
      std::uint32_t codes[kCodeWords];
      take_codes(codes, i);
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        scales[b] = nested_.scale(codes[b / 4] >> 8 * (b % 4) & 0xffu, absmax_[i]);
      }
    }
  }

  // Those of the stage, of 16.
  __device__ __forceinline__ void take_codes(std::uint32_t (&codes)[kCodeWords], int i) const {
    const uint4 all = bits_[i][0];
    const unsigned held = unit_of(i) % kHeldUnits;
    if constexpr (kBlocks == 8) {
      codes[0] = held == 0 ? all.x : all.z;
      codes[1] = held == 0 ? all.y : all.w;
    } else {
      const unsigned which = held / (kHeldUnits / 4);
      const std::uint32_t lower = which % 2 == 0 ? all.x : all.y;
      const std::uint32_t upper = which % 2 == 0 ? all.z : all.w;
      codes[0] = which < 2 ? lower : upper;
      if constexpr (kBlocks == 2) codes[0] >>= held % 2 * 16;
    }
  }

  const Job& job_;
  ScaleLayout layout_;
  NestedMap nested_;
  int first_row_;    // in a tile
  int own_row_ = 0;  // the same in the weight
  int row_step_ = Shape::kProducers;
  int stage_ = 0;
  uint4 bits_[kRows][kCodeWords] = {};
  float absmax_[kRows] = {};
};

// The scales where weights lie transposed: each input has one for the 64 rows of a column. Those
// who multiply have inputs in pairs, a register each, so that scales are stored in pairs of 16
// bits, all inputs of a column behind each other. A scale beyond float16 is two factors, one a
// power of two.
template <class Shape, OutputType kType>
class TransposedScales {
 public:
  __device__ __forceinline__ TransposedScales(const Job& job, ScaleLayout, const float* map,
                                              int thread)
      : job_(job), nested_{map, job.nested ? nested_offset(job) : 0.0f}, thread_(thread) {}

  template <class Walk>
  __device__ __forceinline__ void load(const Walk& walk, bool) {
    stage_ = TransposedBlocks(job_, walk, Shape::kInputs);
    for_each([&](int item, int pair, int column) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        if (pair * 2 + i >= stage_.inputs) continue;
        const unsigned block = stage_.block(job_, pair * 2 + i, column);
        if (job_.nested) {
          raw_[item][i] = __ldg(job_.absmax_codes + block);
          absmax_[item][i] = __ldg(job_.nested_absmax + (block >> 8));
        } else {
          raw_[item][i] = __float_as_uint(__ldg(job_.absmax + block));
        }
        prefetch(pair * 2 + i, column);
      }
    });
  }

  __device__ __forceinline__ bool store(std::uint8_t* at, float factor) const {
    bool in_range = true;
    for_each([&](int item, int pair, int column) {
      float scales[2];
      float powers[2] = {1.0f, 1.0f};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        scales[i] = __uint_as_float(raw_[item][i]);
        if (job_.nested) scales[i] = nested_.scale(raw_[item][i], absmax_[item][i]);
        // Zero beyond the last input.
        scales[i] = pair * 2 + i < stage_.inputs ? scales[i] * factor : 0.0f;
        if (kType != OutputType::kFloat16 || is_float16_scale(scales[i])) continue;
        in_range = false;
        powers[i] = take_power(scales[i]);
      }
      auto* const to = reinterpret_cast<std::uint32_t*>(at) + column * Shape::kInputs / 2 + pair;
      to[0] = pack_pair<kType>(scales[0], scales[1]);
      if constexpr (kType == OutputType::kFloat16) {
        to[Shape::kColumns * Shape::kInputs / 2] = pack_pair<kType>(powers[0], powers[1]);
      }
    });
    return in_range;
  }

 private:
  static constexpr int kPairs = Shape::kInputs / 2 * Shape::kColumns;
  static constexpr int kItems = (kPairs + Shape::kProducers - 1) / Shape::kProducers;

  // Calls use(item, pair of inputs, column) for each that the thread has. Scales of neighbouring
  // columns are neighbours in memory.
  template <class Use>
  __device__ __forceinline__ void for_each(Use use) const {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      const int index = thread_ + item * Shape::kProducers;
      if (kPairs % Shape::kProducers != 0 && index >= kPairs) continue;
      use(item, index / Shape::kColumns, index % Shape::kColumns);
    }
  }

  // Has L2 fetch what comes two stages later: each input's lies in a line of memory of its own.
  __device__ __forceinline__ void prefetch(int input, int column) const {
    input += 2 * Shape::kInputs;
    if (input >= stage_.inputs) return;
    prefetch_scale(job_, stage_.block(job_, input, column));
  }

  const Job& job_;
  NestedMap nested_;
  int thread_;
  TransposedBlocks stage_;
  std::uint32_t raw_[kItems][2] = {};  // codes, or the bits of scales
  float absmax_[kItems][2] = {};
};

}  // namespace nf4bench::kernels::cuda
