#pragma once

// The scales of the weights that the warpgroup kernel multiplies. Two warps of its producer
// warpgroup work them out and put them into the slots of the weights' ring, so that those who
// multiply just read them.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/wgmma/named_barriers.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"

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

// What the codebook is multiplied by before it is rounded to 16 bits, and scales are divided by.
// For bfloat16 the number that leaves the smallest error: 6e-4 of the root mean square, not 1.1e-3.
template <OutputType kType>
inline constexpr float kPairFactor = kType == OutputType::kBfloat16 ? 1.437f : 1.0f;

template <OutputType kType>
__device__ __forceinline__ std::uint32_t pack_pair(float first, float second) {
  return kType == OutputType::kBfloat16 ? pack_bfloat16(first, second)
                                        : pack_float16(first, second);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

inline constexpr int kScaleThreads = 64;
inline constexpr int kScaleWarps = kScaleThreads / 32;

// Brings the nested map into shared memory, and after it the greatest magnitude in it. By
// kScaleThreads threads.
template <class Shape>
__device__ __forceinline__ void load_map(const Job& job, std::uint8_t* shared) {
  if (!job.nested) return;
  auto* map = reinterpret_cast<float*>(shared + Shape::kMap);
  std::uint32_t greatest = 0;
#pragma unroll
  for (int i = 0; i < 256; i += 32) {
    const int at = i + static_cast<int>(threadIdx.x % 32);
    const float value = __ldg(job.nested_map + at);
    if (threadIdx.x % kScaleThreads < 32) map[at] = value;
    greatest = max(greatest, __float_as_uint(value) & 0x7fffffffu);
  }
  greatest = __reduce_max_sync(0xffffffffu, greatest);
  if (threadIdx.x % kScaleThreads == 0) map[256] = __uint_as_float(greatest);
  sync_at<kScalesBarrier, kScaleThreads>();
}

// Scales that are multiplied with weights in float16 first get a power of two that brings those of
// their row, which may be out of its range, to at most 2^14. Inverted it is a factor of the sums.
template <class Shape, OutputType kType>
inline constexpr bool kHasFactors = !Shape::kScaleSums && kType == OutputType::kFloat16;

// The i-th row of a lane; beyond the last row that one stands in.
__device__ __forceinline__ int existing_row(const Job& job, int first_row, int i) {
  return min(first_row + 64 * i, static_cast<int>(job.outputs) - 1);
}

// Where a lane's rows are: every 64th from the first, in a stage of 256 inputs.
struct LaneStage {
  int first_row;
  int stage;
  bool begins_tile;
};

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
    return existing_row(job, at.first_row, i) * (static_cast<unsigned>(job.inputs) / 256) +
           at.stage;
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
    return existing_row(job, at.first_row, i) * (static_cast<unsigned>(job.inputs) / 64) +
           at.stage * 4u;
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
    // As in kAny, the last block stands in beyond the end of a row.
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
          fours + existing_row(job, at.first_row, i) * (static_cast<unsigned>(job.inputs) / 256) +
          at.stage);
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
      const unsigned row = existing_row(job, at.first_row, i) * row_blocks;
      const auto scale = [&](unsigned k) {
        // Beyond the end of a row the last block stands in: the activations there are zero, so that
        // only whether the scale is finite matters, and that the row's result tells anyway.
        const unsigned in_row = min(at.stage * 4u + k, row_blocks - 1);
        const unsigned block = (row + in_row) >> (job.block_shift - 6);
        return job.nested ? block_scale<true>(job, block) : block_scale<false>(job, block);
      };
      use(i, make_float4(scale(0), scale(1), scale(2), scale(3)));
    }
  }
};

// The power of two for each row of a lane. The values of which the row's scales are made, of its
// first and last block, are asked for when its scales are; few rows have others between.
template <int kRows>
class RowFactors {
 public:
  __device__ __forceinline__ void load(const Job& job, int first_row) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const Values values(job, existing_row(job, first_row, i));
      ends_[i][0] = values.magnitude(values.first);
      ends_[i][1] = values.magnitude(values.last);
    }
  }

  // Code that runs once waits for its instructions: it has to be short.
  __device__ __forceinline__ void work_out(const Job& job, const NestedMap& nested, int first_row) {
    unsigned bounds[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) bounds[i] = max(ends_[i][0], ends_[i][1]);
    if ((job.inputs - 1) >> Values::shift(job) > 0) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const Values values(job, existing_row(job, first_row, i));
#pragma unroll 1
        for (unsigned k = values.first + 1; k < values.last; ++k) {
          bounds[i] = max(bounds[i], values.magnitude(k));
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (job.nested) {
        bounds[i] =
            __float_as_uint(__uint_as_float(bounds[i]) * nested.values[256] + fabsf(nested.offset));
      }
      // 1 where a scale may be no finite number, so that those that are stay in their range.
      exponents_[i] =
          bounds[i] < 0x7f800000u ? min(2 * 127 + 13 - (bounds[i] >> 23), 127u + 120) : 127u;
    }
  }

  __device__ __forceinline__ float factor(int row) const {
    unsigned exponent = exponents_[0];
    // Not as an index, for which they would have to lie in memory.
#pragma unroll
    for (int i = 1; i < kRows; ++i) {
      if (row == i) exponent = exponents_[i];
    }
    return __uint_as_float(exponent << 23);
  }

  __device__ __forceinline__ void store_inverses(float* first) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      first[64 * i] = __uint_as_float((2 * 127 - exponents_[i]) << 23);
    }
  }

 private:
  // Of a row: its nested absmax, or its absmax.
  struct Values {
    const float* all;
    unsigned first;
    unsigned last;

    __device__ __forceinline__ Values(const Job& job, int row)
        : all(job.nested ? job.nested_absmax : job.absmax) {
      const std::int64_t begin = std::int64_t{row} * job.inputs;
      first = static_cast<unsigned>(begin >> shift(job));
      last = static_cast<unsigned>((begin + job.inputs - 1) >> shift(job));
    }

    __device__ __forceinline__ static int shift(const Job& job) {
      return static_cast<int>(job.block_shift) + (job.nested ? 8 : 0);
    }

    // Without its sign: bits, which are ordered as the values are, NaN being the greatest.
    __device__ __forceinline__ unsigned magnitude(unsigned i) const {
      return __float_as_uint(__ldg(all + i)) & 0x7fffffffu;
    }
  };

  unsigned ends_[kRows][2];
  unsigned exponents_[kRows];  // with 127 added
};

// One of kScaleThreads threads; the i-th does the i-th row of each warpgroup.
template <class Shape, OutputType kType, StageScales kKind>
class ScaleProducer {
 public:
  __device__ __forceinline__ ScaleProducer(const Job& job, const StagePlan& plan,
                                           std::uint8_t* shared)
      : job_(job),
        plan_(plan),
        rings_(shared_address(shared)),
        lane_(static_cast<int>(threadIdx.x) % kScaleThreads),
        nested_{reinterpret_cast<const float*>(shared + Shape::kMap), 0.0f},
        inverses_(reinterpret_cast<float*>(shared + Shape::kInverses) + lane_),
        slots_(shared + Shape::kScales + lane_ * Shape::kRowScaleBytes),
        walk_(plan, blockIdx.x) {
    // At once, where there are registers for both.
    constexpr bool kMapFirst = kKind == StageScales::kCodesOfTwoWords;
    if constexpr (kMapFirst) load_map<Shape>(job, shared);
    ask();
    if constexpr (!kMapFirst) load_map<Shape>(job, shared);
    if (job.nested) nested_.offset = nested_offset(job);
  }

  __device__ __forceinline__ void produce() {
    while (is_valid_) {
      work_out();
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(rings_.weights.full(slot_.slot));
      ask();
      slot_.advance();
    }
  }

 private:
  static constexpr int kRows = Shape::kGroups;  // of a lane

  // Asks for the scales of the next stage.
  __device__ __forceinline__ void ask() {
    is_valid_ = walk_.tile.valid();
    if (!is_valid_) return;
    stage_ = {walk_.place.rows * Shape::kRows + lane_, walk_.stage,
              walk_.stage == walk_.tile.begin};
    loaded_.load(job_, stage_);
    if constexpr (kHasFactors<Shape, kType>) {
      if (stage_.begins_tile) row_factors_.load(job_, stage_.first_row);
    }
    walk_.advance(plan_);
  }

  __device__ __forceinline__ void work_out() {
    constexpr float kInverse = 1.0f / kPairFactor<kType>;
    wait_for_phase(rings_.weights.empty(slot_.slot), slot_.parity ^ 1);
    if constexpr (kHasFactors<Shape, kType>) {
      if (stage_.begins_tile) row_factors_.work_out(job_, nested_, stage_.first_row);
    }
    std::uint8_t* target = slots_ + slot_.slot * Shape::kScaleSlotBytes;
    loaded_.for_each(job_, nested_, stage_, [&](int row, float4 scales) {
      float factor = kInverse;
      if constexpr (kHasFactors<Shape, kType>) factor *= row_factors_.factor(row);
      const float4 scaled =
          make_float4(scales.x * factor, scales.y * factor, scales.z * factor, scales.w * factor);
      std::uint8_t* at = target + 64 * row * Shape::kRowScaleBytes;
      if constexpr (Shape::kScaleSums) {
        *reinterpret_cast<float4*>(at) = scaled;
      } else {
        *reinterpret_cast<uint2*>(at) =
            make_uint2(pack_pair<kType>(scaled.x, scaled.y), pack_pair<kType>(scaled.z, scaled.w));
      }
    });
    // Stored sooner, they would keep the map from being read before they are known.
    if constexpr (kHasFactors<Shape, kType>) {
      if (stage_.begins_tile) {
        row_factors_.store_inverses(inverses_ + Shape::kRows * tile_.slot);
        tile_.advance();
      }
    }
  }

  const Job& job_;
  const StagePlan& plan_;
  WgmmaRings<Shape> rings_;
  int lane_;
  NestedMap nested_;
  float* inverses_;  // of the first tile
  std::uint8_t* slots_;
  StageWalk walk_;
  RingPosition<Shape::kWeightSlots> slot_;
  RingPosition<Shape::kFactorSlots> tile_;
  bool is_valid_ = false;
  LaneStage stage_;
  LoadedScales<kKind, kRows> loaded_;
  RowFactors<kRows> row_factors_;
};

template <class Shape, OutputType kType>
__device__ __forceinline__ void produce_scales(const Job& job, const StagePlan& plan,
                                               StageScales kind, std::uint8_t* shared) {
  switch (kind) {
    case StageScales::kCodes:
      return ScaleProducer<Shape, kType, StageScales::kCodes>(job, plan, shared).produce();
    case StageScales::kCodesOfTwoWords:
      return ScaleProducer<Shape, kType, StageScales::kCodesOfTwoWords>(job, plan, shared)
          .produce();
    case StageScales::kValues:
      return ScaleProducer<Shape, kType, StageScales::kValues>(job, plan, shared).produce();
    case StageScales::kAny:
      return ScaleProducer<Shape, kType, StageScales::kAny>(job, plan, shared).produce();
  }
}

#endif

}  // namespace nf4bench::kernels::cuda
