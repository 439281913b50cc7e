#pragma once

// Fills the slots of mma_ring: weights and tokens by cp.async, scales worked out by the threads.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/ring/ring_sync.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"

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

  // Asks for those of a stage of the tile that begins at row `tile_row`.
  __device__ __forceinline__ void load(int tile_row, int stage, bool begins_tile) {
    tile_row_ = tile_row;
    stage_ = stage;
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

  // Stores them `factor` times as large: row r's of block b at values[b * Shape::kRows + r].
  // Returns whether all are in the range of float16.
  __device__ __forceinline__ bool store(float* values, float factor) const {
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
    return min(tile_row_ + first_row_ + i * Shape::kProducers, static_cast<int>(job_.outputs) - 1);
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
  int first_row_;  // in a tile
  int tile_row_ = 0;
  int stage_ = 0;
  uint4 bits_[kRows][kCodeWords] = {};
  float absmax_[kRows] = {};
};

// A thread's copies of weights and tokens for a stage, 16 bytes each: of every kRowStep-th row, and
// of every kTokenStep-th token.
template <class Shape>
class StageCopies {
 public:
  static constexpr int kRowChunks = Shape::kRowBytes / 16;
  static constexpr int kTokenChunks = Shape::kInputs * 2 / 16;

  __device__ __forceinline__ StageCopies(const Job& job, int thread) : job_(job), thread_(thread) {}

  // At the first stage of a part of a tile.
  template <class Walk>
  __device__ __forceinline__ void enter_tile(const Walk& walk) {
    const int row = walk.first_row() + row_of_place(thread_ / kRowChunks);
    const int token = walk.first_token() + thread_ / kTokenChunks;
    const int weight_byte = walk.stage() * Shape::kRowBytes + thread_ % kRowChunks * 16;
    const int token_byte = walk.stage() * Shape::kInputs * 2 + thread_ % kTokenChunks * 16;
    weights_ = job_.packed + std::int64_t{row} * row_bytes() + weight_byte;
    tokens_ = static_cast<const std::uint8_t*>(job_.input) + std::int64_t{token} * token_bytes() +
              token_byte;
    rows_left_ = static_cast<int>(job_.outputs) - row;
    tokens_left_ = walk.tokens_end(static_cast<int>(job_.tokens)) - token;
    weight_bytes_left_ = row_bytes() - weight_byte;
    token_bytes_left_ = token_bytes() - token_byte;
    ask();
  }

  // To the next stage of the tile.
  __device__ __forceinline__ void advance() {
    weights_ += Shape::kRowBytes;
    tokens_ += Shape::kInputs * 2;
    weight_bytes_left_ -= Shape::kRowBytes;
    token_bytes_left_ -= Shape::kInputs * 2;
    ask();
  }

  // Copies to these places; zeros where a row ends. Tokens that there are not are left as they are:
  // nobody reads their accumulators.
  __device__ __forceinline__ void put(std::uint32_t weights, std::uint32_t tokens) const {
#pragma unroll
    for (int i = 0; i < kRowSteps; ++i) {
      const std::uint32_t to = weights + i * kRowStep * Shape::kRowBytes;
#if __CUDA_ARCH__ >= 800
      copy_async_by_line(to, weights_of(i), has_row(i));
#else
      store_shared_16(to, asked_weights_[i]);
#endif
    }
#pragma unroll
    for (int i = 0; i < kTokenSteps; ++i) {
      if (i * kTokenStep >= tokens_left_) continue;
      const std::uint32_t to = tokens + i * kTokenStep * Shape::kTokenBlockBytes;
#if __CUDA_ARCH__ >= 800
      copy_async<16>(to, tokens_of(i), token_bytes_left_ > 0);
#else
      store_shared_16(to, asked_tokens_[i]);
#endif
    }
  }

  // Until all of them have ended.
  __device__ __forceinline__ void finish() const {
#if __CUDA_ARCH__ >= 800
    commit_copies();
    wait_for_copies<0>();
#endif
  }

 private:
  static constexpr int kRowStep = Shape::kProducers / kRowChunks;
  static constexpr int kRowSteps = Shape::kRows / kRowStep;
  static constexpr int kTokenStep = Shape::kProducers / kTokenChunks;
  static constexpr int kTokenSteps = Shape::kTokens / kTokenStep;
  static_assert(kRowStep % 16 == 0 && Shape::kRows % kRowStep == 0);
  static_assert(kTokenStep % 2 == 0 && Shape::kTokens % kTokenStep == 0);

  __device__ __forceinline__ int row_bytes() const {
    return static_cast<int>(job_.inputs) / 2;
  }
  __device__ __forceinline__ int token_bytes() const {
    return static_cast<int>(job_.inputs) * 2;
  }
  __device__ __forceinline__ const std::uint8_t* weights_of(int i) const {
    return weights_ + std::int64_t{i * kRowStep} * row_bytes();
  }
  __device__ __forceinline__ const std::uint8_t* tokens_of(int i) const {
    return tokens_ + std::int64_t{i * kTokenStep} * token_bytes();
  }
  __device__ __forceinline__ bool has_row(int i) const {
    return weight_bytes_left_ > 0 && i * kRowStep < rows_left_;
  }

  // Turing has no copies that run beside the thread: it loads a stage ahead.
  __device__ __forceinline__ void ask() {
#if __CUDA_ARCH__ < 800
#pragma unroll
    for (int i = 0; i < kRowSteps; ++i) {
      asked_weights_[i] = has_row(i) ? __ldcs(reinterpret_cast<const uint4*>(weights_of(i)))
                                     : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < kTokenSteps; ++i) {
      const bool has = token_bytes_left_ > 0 && i * kTokenStep < tokens_left_;
      asked_tokens_[i] =
          has ? __ldg(reinterpret_cast<const uint4*>(tokens_of(i))) : make_uint4(0, 0, 0, 0);
    }
#endif
  }

  const Job& job_;
  int thread_;
  const std::uint8_t* weights_ = nullptr;  // of its first row
  const std::uint8_t* tokens_ = nullptr;
  int rows_left_ = 0;  // from that row on
  int tokens_left_ = 0;
  int weight_bytes_left_ = 0;  // of a row, from this stage on
  int token_bytes_left_ = 0;
#if __CUDA_ARCH__ < 800
  uint4 asked_weights_[kRowSteps];
  uint4 asked_tokens_[kTokenSteps];
#endif
};

template <class Shape, OutputType kType, ScaleTarget kTarget, class Walk>
class RingProducer {
 public:
  // By kProducers threads, counted by `thread`.
  __device__ __forceinline__ RingProducer(const Job& job, const Walk& walk, ScaleLayout layout,
                                          std::uint8_t* shared, int thread)
      : sync_(shared_address(shared)),
        copies_(job, thread),
        scales_(job, layout, reinterpret_cast<const float*>(shared + Shape::kMap), thread),
        shared_(shared),
        thread_(thread),
        walk_(walk) {
    const int place = thread / Copies::kRowChunks;
    const int chunk = thread % Copies::kRowChunks;
    constexpr int kBlockChunks = Shape::kBlockBytes / 16;
    weight_to_ = keep(shared_address(shared) + Shape::kRing +
                      weight_place<Shape>(place, chunk / kBlockChunks) + chunk % kBlockChunks * 16);
    const int token = thread / Copies::kTokenChunks;
    const int token_chunk = thread % Copies::kTokenChunks;
    constexpr int kTokenBlockChunks = Shape::kTokenBlockBytes / 16;
    token_to_ = keep(shared_address(shared) + Shape::kRing + Shape::kTokensAt +
                     token_place<Shape>(token, token_chunk / kTokenBlockChunks,
                                        token_chunk % kTokenBlockChunks));
    enter_tile();
  }

  __device__ __forceinline__ bool valid() const { return walk_.valid(); }

  // Fills the next slot.
  __device__ __forceinline__ void produce() {
    sync_.wait_until_empty(at_);
    const std::uint32_t slot = at_.slot * Shape::kSlotBytes;
    copies_.put(weight_to_ + slot, token_to_ + slot);
    std::uint8_t* at = shared_ + Shape::kRing + slot;
    const bool in_range =
        scales_.store(reinterpret_cast<float*>(at + Shape::kScalesAt), 1.0f / kPairFactor<kType>);
    if constexpr (kMayBeWide<kType, kTarget>) {
      const bool is_wide = __any_sync(0xffffffffu, !in_range);
      if (thread_ % 32 == 0) {
        reinterpret_cast<std::uint32_t*>(at + Shape::kWideAt)[thread_ / 32] = is_wide ? 1 : 0;
      }
    }
    sync_.fill(at_);
    at_.advance();
    advance();
  }

  // Until all copies have ended.
  __device__ __forceinline__ void finish() const { copies_.finish(); }

 private:
  using Copies = StageCopies<Shape>;

  __device__ __forceinline__ void advance() {
    walk_.advance();
    if (!valid()) return;
    if (walk_.begins_tile()) return enter_tile();
    copies_.advance();
    scales_.load(walk_.first_row(), walk_.stage(), false);
  }

  __device__ __forceinline__ void enter_tile() {
    if (!valid()) return;
    copies_.enter_tile(walk_);
    scales_.load(walk_.first_row(), walk_.stage(), true);
  }

  RingSync<Shape> sync_;
  StageCopies<Shape> copies_;
  RingScales<Shape> scales_;
  std::uint8_t* shared_;
  int thread_;
  Walk walk_;
  typename RingSync<Shape>::Slot at_;
  std::uint32_t weight_to_;  // where this thread's first copies go, in the first slot
  std::uint32_t token_to_;
};

}  // namespace nf4bench::kernels::cuda
