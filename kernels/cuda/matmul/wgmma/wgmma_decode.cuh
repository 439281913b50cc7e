#pragma once

// Weights decoded into registers as the A operand of Hopper's warpgroup products; activations are
// B, in shared memory. A block is a producer warpgroup, two threads of which keep two rings of
// shared memory full, and a few consumer warpgroups of 64 rows each.
//
// Of the 256 inputs of a stage lane t of each quad has the t-th 64 for itself, and so one scale a
// row. A byte of the weight is one read of a table of pairs of codebook values and one product with
// the scale, both float16. What float16 cannot hold of scales is taken out before: each row has a
// power of two (RowFactors) that brings its scales near the top of the range. While the tensor
// cores multiply a quarter of a stage, the next quarter is decoded.

#include "cuda/codebook.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/lane_scales.cuh"
#include "cuda/matmul/persistent_launch.cuh"
#include "cuda/matmul/tensor_map.hpp"
#include "cuda/matmul/wgmma/arrange_tokens.cuh"
#include "cuda/matmul/wgmma/stage_walk.cuh"
#include "cuda/matmul/wgmma/wgmma.cuh"
#include "cuda/memory.cuh"

namespace nf4bench::kernels::cuda {

inline constexpr int kGroupRows = 64;  // of a consumer warpgroup
inline constexpr int kGroupBoxBytes = kGroupRows * kBoxBytes;
inline constexpr int kMostGridBlocks = 144;

// What is compiled: tokens of a tile, consumer warpgroups, slots of the rings, and quarters of a
// stage in a slot of activations.
template <int kTokensValue, int kGroupsValue, int kWeightSlotsValue, int kTokenSlotsValue,
          int kSlotQuartersValue>
struct WgmmaShape {
  static constexpr int kTokens = kTokensValue;
  static constexpr int kGroups = kGroupsValue;
  static constexpr int kWeightSlots = kWeightSlotsValue;
  static constexpr int kTokenSlots = kTokenSlotsValue;
  static constexpr int kSlotQuarters = kSlotQuartersValue;

  static constexpr int kRows = kGroups * kGroupRows;  // of a tile
  static constexpr int kThreads = kGroups * 128 + 128;
  static constexpr int kSums = kTokens / 2;  // of a lane
  // Registers a thread that a block begins with. They leave enough for a block of the kernel that
  // arranges the next product's activations.
  static constexpr int kRegisters = kGroups == 2 ? 160 : kGroups == 3 ? 120 : 96;
  static constexpr int kConsumerRegisters = kGroups == 2 ? 224 : kGroups == 3 ? 152 : 112;

  // Shared memory, in bytes from its start.
  static constexpr int kTable = 0;
  static constexpr int kWeights = 256 * 32 * 4;
  static constexpr int kWeightSlotBytes = kGroups * kGroupBoxBytes;
  static constexpr int kActivations = kWeights + kWeightSlots * kWeightSlotBytes;
  static constexpr int kQuarterBytes = kTokens * 128;
  static constexpr int kTokenSlotBytes = kSlotQuarters * kQuarterBytes;
  static constexpr int kMap = kActivations + kTokenSlots * kTokenSlotBytes;
  static constexpr int kBarriers = kMap + 1024;
  static constexpr int kZero = kBarriers + 2 * 8 * (kWeightSlots + kTokenSlots);
  static constexpr int kBytes = kZero + 16;

  static constexpr int kGroupSums = kGroupRows * kTokens;  // of a consumer warpgroup
};

// Sums of split tiles, in the workspace. A block has at most two split tiles, and each of its
// warpgroups a place for each of them; a tile has a counter a warpgroup.
struct SplitSums {
  float* sums;
  int* counters;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Which slot of a ring comes next, and the parity of its phase. A producer waits for the parity of
// the phase before the first one, which has ended already.
template <int kSlots>
struct RingPosition {
  int slot = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++slot == kSlots) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// Where the barriers of a ring lie: one a slot that says full, then one that says empty.
template <int kSlots>
struct RingBarriers {
  std::uint32_t first;

  __device__ __forceinline__ std::uint32_t full(int slot) const { return first + 8 * slot; }
  __device__ __forceinline__ std::uint32_t empty(int slot) const {
    return first + 8 * (kSlots + slot);
  }
  __device__ __forceinline__ void init(int consumers) const {
    for (int slot = 0; slot < kSlots; ++slot) {
      init_barrier(full(slot), 1);
      init_barrier(empty(slot), consumers);
    }
  }
};

template <class Shape>
struct WgmmaRings {
  RingBarriers<Shape::kWeightSlots> weights;
  RingBarriers<Shape::kTokenSlots> tokens;

  __device__ __forceinline__ explicit WgmmaRings(std::uint32_t shared)
      : weights{shared + Shape::kBarriers},
        tokens{shared + Shape::kBarriers + 16 * Shape::kWeightSlots} {}
};

// One thread copies the weights of all stages.
template <class Shape>
__device__ __forceinline__ void produce_weights(const CUtensorMap& map, const StagePlan& plan,
                                                std::uint32_t shared) {
  const WgmmaRings<Shape> rings(shared);
  const std::uint64_t policy = evict_first_policy();
  RingPosition<Shape::kWeightSlots> at;
  for (StageWalk walk(plan, blockIdx.x); walk.tile.valid(); walk.advance(plan)) {
    wait_for_phase(rings.weights.empty(at.slot), at.parity ^ 1);
    arrive_expecting(rings.weights.full(at.slot), Shape::kWeightSlotBytes);
    const int row = walk.tile.tile / plan.token_groups * Shape::kRows;
    const std::uint32_t slot = shared + Shape::kWeights + at.slot * Shape::kWeightSlotBytes;
#pragma unroll
    for (int group = 0; group < Shape::kGroups; ++group) {
      copy_box(slot + group * kGroupBoxBytes,
               {&map, walk.stage * kBoxBytes, row + group * kGroupRows},
               rings.weights.full(at.slot), policy);
    }
    at.advance();
  }
}

// One thread copies the activations of all stages.
template <class Shape>
__device__ __forceinline__ void produce_tokens(const TokenImage& image, const StagePlan& plan,
                                               std::uint32_t shared) {
  const WgmmaRings<Shape> rings(shared);
  RingPosition<Shape::kTokenSlots> at;
  for (StageWalk walk(plan, blockIdx.x); walk.tile.valid(); walk.advance(plan)) {
    const int group = walk.tile.tile % plan.token_groups;
    const std::uint8_t* source = image.operands + (std::int64_t{group} * plan.stages + walk.stage) *
                                                      4 * Shape::kQuarterBytes;
#pragma unroll 1
    for (int part = 0; part < 4 / Shape::kSlotQuarters; ++part) {
      wait_for_phase(rings.tokens.empty(at.slot), at.parity ^ 1);
      arrive_expecting(rings.tokens.full(at.slot), Shape::kTokenSlotBytes);
      copy_bulk(shared + Shape::kActivations + at.slot * Shape::kTokenSlotBytes,
                source + part * Shape::kTokenSlotBytes, Shape::kTokenSlotBytes,
                rings.tokens.full(at.slot));
      at.advance();
    }
  }
}

// 16 weights of two rows as the A operand of two steps: a byte a read. `table` is this lane's
// column of the table of pairs; `scales` are those of the rows, each in both halves.
__device__ __forceinline__ void decode_words(std::uint32_t (&a)[8], uint2 words, uint2 scales,
                                             std::uint32_t table) {
#pragma unroll
  for (int byte = 0; byte < 4; ++byte) {
    const std::uint32_t factor = 128u << 8 * byte;  // a row of the table has 32 words
    std::uint32_t address;
    std::uint32_t pair;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(address) : "r"(words.x), "r"(factor), "r"(table));
    asm("ld.shared.u32 %0, [%1];" : "=r"(pair) : "r"(address));
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(a[2 * byte]) : "r"(pair), "r"(scales.x));
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(address) : "r"(words.y), "r"(factor), "r"(table));
    asm("ld.shared.u32 %0, [%1];" : "=r"(pair) : "r"(address));
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(a[2 * byte + 1]) : "r"(pair), "r"(scales.y));
  }
}

// Pairs of codebook values, the high nibble's in the low half, for all bytes; a copy for each lane,
// so that no two lanes meet in a bank.
template <class Shape>
__device__ __forceinline__ void fill_tables(const Job& job, std::uint8_t* shared) {
  auto* table = reinterpret_cast<std::uint32_t*>(shared + Shape::kTable);
  for (int i = threadIdx.x; i < 256 * 32; i += Shape::kGroups * 128) {
    table[i] = pack_float16(kCodebook[i >> 9], kCodebook[i >> 5 & 15]);
  }
  if (!job.nested) return;
  auto* map = reinterpret_cast<float*>(shared + Shape::kMap);
  for (int i = threadIdx.x; i < 256; i += Shape::kGroups * 128) map[i] = job.nested_map[i];
}

// The two neighbouring rows of a lane in its warpgroup's 64. The tensor cores' row lane / 4 is the
// first of them in every second quad and the second in the others, so that the lanes that read
// shared memory together find their words in different banks.
struct LaneRows {
  int pair;     // the first row of the two
  int swapped;  // 1: the second row comes first

  __device__ __forceinline__ LaneRows()
      : pair(static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 * 2)),
        swapped(static_cast<int>(threadIdx.x / 4 % 2)) {}
  __device__ __forceinline__ int first() const { return pair + swapped; }
  __device__ __forceinline__ int second() const { return pair + (swapped ^ 1); }
};

// The consumer's state.
template <class Shape, ScaleKind kKind>
class WgmmaConsumer {
 public:
  __device__ __forceinline__ WgmmaConsumer(const Job& job, const StagePlan& plan,
                                           std::uint8_t* shared)
      : job_(job),
        plan_(plan),
        map_(reinterpret_cast<const float*>(shared + Shape::kMap)),
        shared_(shared_address(shared)),
        rings_(shared_),
        ahead_(plan, blockIdx.x) {
    const int lane = threadIdx.x % 32;
    const int piece = lane % 4 * 2;
    words_[0] = shared_ + Shape::kWeights + rows_.first() * kBoxBytes +
                ((piece ^ (rows_.first() & 7)) << 4);
    words_[1] = shared_ + Shape::kWeights + rows_.second() * kBoxBytes +
                ((piece ^ (rows_.second() & 7)) << 4);
    table_ = shared_ + Shape::kTable + lane * 4;
    zero_ = load_shared_8(shared_ + Shape::kZero).x;
    enter_tile_ahead();
    load_scales();
    load_scales();
  }

  // Begins a tile, whose rows have these factors.
  __device__ __forceinline__ void begin_tile(const RowFactors& factors, int tile) {
    const int row = tile / plan_.token_groups * Shape::kRows;
    const int last = static_cast<int>(job_.outputs) - 1;
    factors_[0] = __ldcg(factors.values + min(row + rows_.first(), last));
    factors_[1] = __ldcg(factors.values + min(row + rows_.second(), last));
    adds_ = false;
  }

  // Multiplies one stage into the sums.
  __device__ __forceinline__ void multiply_stage() {
    const float first = scales_[0].scale(job_, map_, 0, 0) * factors_[0];
    const float second = scales_[0].scale(job_, map_, 0, 1) * factors_[1];
    const uint2 scales = make_uint2(pack_float16(first, first), pack_float16(second, second));
    load_scales();
    wait_for_phase(rings_.weights.full(weights_at_.slot), weights_at_.parity);
    const std::uint32_t slot = weights_at_.slot * Shape::kWeightSlotBytes;
    const uint4 words[2][2] = {
        {load_shared_16(words_[0] + slot), load_shared_16(words_[1] + slot)},
        {load_shared_16((words_[0] ^ 16) + slot), load_shared_16((words_[1] ^ 16) + slot)}};
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {
      const uint4 a = words[quarter / 2][0];
      const uint4 b = words[quarter / 2][1];
      const uint2 pairs[2] = {quarter % 2 == 0 ? make_uint2(a.x, b.x) : make_uint2(a.z, b.z),
                              quarter % 2 == 0 ? make_uint2(a.y, b.y) : make_uint2(a.w, b.w)};
      multiply_quarter(quarter, pairs, scales);
    }
    // A load whose result has been used is over, so that no copy can overtake it.
    const std::uint32_t read = words[0][0].x | words[0][1].x | words[1][0].x | words[1][1].x;
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(rings_.weights.empty(weights_at_.slot) + (read & zero_));
    weights_at_.advance();
  }

  // Waits for what is still under way. The sums are whole then.
  __device__ __forceinline__ void finish_tile() {
    wait_for_products<0>();
    // Nothing that uses the sums may move up across the wait.
#pragma unroll
    for (int i = 0; i < Shape::kSums; ++i) asm volatile("" : "+f"(sums_[i])::"memory");
    release_tokens();
  }

  float sums_[Shape::kSums];

 private:
  __device__ __forceinline__ void enter_tile_ahead() {
    const int last = static_cast<int>(job_.outputs) - 1;
    const int row = ahead_.tile.tile / plan_.token_groups * Shape::kRows;
    rows_ahead_[0] = min(row + rows_.first(), last);
    rows_ahead_[1] = min(row + rows_.second(), last);
  }

  // Two stages ahead.
  __device__ __forceinline__ void load_scales() {
    scales_[0] = scales_[1];
    if (!ahead_.tile.valid()) return;
    scales_[1].load(job_, {rows_ahead_[0], rows_ahead_[1], ahead_.stage});
    ahead_.advance(plan_);
    if (ahead_.stage == ahead_.tile.begin) enter_tile_ahead();
  }

  __device__ __forceinline__ void multiply_quarter(int quarter, const uint2 (&words)[2],
                                                   uint2 scales) {
    std::uint32_t(&a)[2][8] = weights_[quarter % 2];
    decode_words(a[0], words[0], scales, table_);
    decode_words(a[1], words[1], scales, table_);
    const int slot_quarter = quarter % Shape::kSlotQuarters;
    if (slot_quarter == 0) {
      wait_for_phase(rings_.tokens.full(tokens_at_.slot), tokens_at_.parity);
    }
    const std::uint64_t activations =
        token_descriptor(shared_ + Shape::kActivations + tokens_at_.slot * Shape::kTokenSlotBytes +
                         slot_quarter * Shape::kQuarterBytes);
    begin_products();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const std::uint32_t operand[4] = {a[step / 2][step % 2 * 4], a[step / 2][step % 2 * 4 + 1],
                                        a[step / 2][step % 2 * 4 + 2],
                                        a[step / 2][step % 2 * 4 + 3]};
      multiply_tokens(sums_, operand, activations + 2 * step, adds_);
      adds_ = true;
    }
    commit_products();
    wait_for_products<1>();  // the quarter before, whose operands are decoded into next
    release_tokens();
    if (slot_quarter == Shape::kSlotQuarters - 1) {
      leaving_slot_ = tokens_at_.slot;
      tokens_at_.advance();
    }
  }

  // Gives back the slot of activations whose last products are done.
  __device__ __forceinline__ void release_tokens() {
    if (leaving_slot_ < 0) return;
    if (threadIdx.x % 32 == 0) arrive(rings_.tokens.empty(leaving_slot_));
    leaving_slot_ = -1;
  }

  const Job& job_;
  const StagePlan& plan_;
  const float* map_;
  std::uint32_t shared_;
  WgmmaRings<Shape> rings_;
  LaneRows rows_;
  StageWalk ahead_;
  int rows_ahead_[2];
  LaneScales<kKind, 1> scales_[2];
  float factors_[2];
  std::uint32_t words_[2];  // of this lane's rows, in the first slot
  std::uint32_t table_;
  std::uint32_t zero_;  // a zero that the compiler cannot see through
  bool adds_ = false;   // else the next product begins the sums
  RingPosition<Shape::kWeightSlots> weights_at_;
  RingPosition<Shape::kTokenSlots> tokens_at_;
  int leaving_slot_ = -1;
  std::uint32_t weights_[2][2][8];  // A, of the newest quarter and the one before
};

// Where a lane's sums go: its rows of a tile.
class LaneOutputs {
 public:
  __device__ __forceinline__ LaneOutputs(const Job& job, const TokenImage& image, int row,
                                         int token)
      : job_(job), image_(image), row_(row + rows_.pair), token_(token) {
    const int last = static_cast<int>(job.outputs) - 1;
    inverse_[0] = inverse_of(image.factors.values + min(row + rows_.first(), last));
    inverse_[1] = inverse_of(image.factors.values + min(row + rows_.second(), last));
  }

  // The sums of two tokens of each eight; `eight` counts these.
  __device__ __forceinline__ void store(int eight, float4 sums) const {
    if (row_ >= job_.outputs) return;
    const float by_row[2][2] = {{sums.x * inverse_[0], sums.z * inverse_[1]},
                                {sums.y * inverse_[0], sums.w * inverse_[1]}};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int token = token_ + eight * 8 + static_cast<int>(threadIdx.x % 4 * 2) + i;
      if (token >= job_.tokens) continue;
      const float scale = __ldcg(image_.scales + token);
      const float first = by_row[i][0] * scale;
      const float second = by_row[i][1] * scale;
      store_pair(token, rows_.swapped != 0 ? second : first, rows_.swapped != 0 ? first : second);
    }
  }

 private:
  // Of a power of two.
  __device__ static __forceinline__ float inverse_of(const float* factor) {
    return __uint_as_float(0x7f000000u - __float_as_uint(__ldcg(factor)));
  }

  __device__ __forceinline__ void store_pair(std::int64_t token, float first, float second) const {
    const std::uint32_t pair = job_.output_type == OutputType::kFloat16
                                   ? pack_float16(first, second)
                                   : pack_bfloat16(first, second);
    std::uint16_t* at = static_cast<std::uint16_t*>(job_.output) + token * job_.outputs + row_;
    if (job_.outputs % 2 == 0) {
      *reinterpret_cast<std::uint32_t*>(at) = pair;
      return;
    }
    at[0] = static_cast<std::uint16_t>(pair);
    if (row_ + 1 < job_.outputs) at[1] = static_cast<std::uint16_t>(pair >> 16);
  }

  const Job& job_;
  const TokenImage& image_;
  LaneRows rows_;
  int row_;
  int token_;
  float inverse_[2];
};

// The blocks that share a split tile. Each of their warpgroups leaves its sums in the workspace and
// goes on. When it has nothing else to do it waits for the others, and adds up its part of what all
// of them have left, in the order of the blocks, so that the result is always the same. All blocks
// of the grid run at once, so the wait ends.
template <class Shape>
class SharedTile {
 public:
  __device__ __forceinline__ SharedTile(const StagePlan& plan, const SplitSums& split, int tile)
      : split_(split), counter_(split.counters + (tile - plan.whole) * Shape::kGroups + group()) {
    const int begin = (tile - plan.whole) * plan.stages;
    first_block_ = block_of_split(plan, begin);
    blocks_ = block_of_split(plan, begin + plan.stages - 1) - first_block_ + 1;
    // Only the first of the tile's blocks can have had a split tile before this one.
    first_place_ = split_begin(plan, first_block_) < begin ? 1 : 0;
  }

  __device__ __forceinline__ void leave(const float (&sums)[Shape::kSums]) const {
    float4* own = place(static_cast<int>(blockIdx.x) - first_block_);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      __stcg(own + i * 128,
             make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]));
    }
    __threadfence();
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group()) : "memory");
    if (threadIdx.x % 128 == 0) atomicAdd(counter_, 1);
  }

  __device__ __forceinline__ void add_up(const LaneOutputs& outputs) const {
    const int index = static_cast<int>(blockIdx.x) - first_block_;
    const int begin = index * kPieces / blocks_;
    const int end = (index + 1) * kPieces / blocks_;
    if (begin == end) return;
    if (threadIdx.x % 128 == 0) wait();
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group()) : "memory");
    for (int piece = begin; piece < end; ++piece) {
      float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 8
      for (int block = 0; block < blocks_; ++block) {
        const float4 part = __ldcg(place(block) + piece * 128);
        sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
      }
      outputs.store(piece, sum);
    }
  }

 private:
  static constexpr int kPieces = Shape::kTokens / 8;  // of 16 bytes, of a lane's sums

  __device__ __forceinline__ static int group() {
    return static_cast<int>(threadIdx.x / 128);
  }

  // The sums that the block-th of the tile's blocks has left, a lane's in steps of 128 pieces.
  __device__ __forceinline__ float4* place(int block) const {
    const int index = (first_block_ + block) * 2 + (block == 0 ? first_place_ : 0);
    return reinterpret_cast<float4*>(
               split_.sums + (std::int64_t{index} * Shape::kGroups + group()) * Shape::kGroupSums) +
           threadIdx.x % 128;
  }

  __device__ __forceinline__ void wait() const {
    int left = 0;
#pragma unroll 1
    while (left < blocks_) {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(left) : "l"(counter_) : "memory");
    }
  }

  const SplitSums& split_;
  int* counter_;
  int first_block_;
  int blocks_;
  int first_place_;
};

template <class Shape, ScaleKind kKind>
__device__ __forceinline__ void consume(const Job& job, const StagePlan& plan,
                                        const TokenImage& image, const SplitSums& split,
                                        std::uint8_t* shared) {
  fill_tables<Shape>(job, shared);
  if (threadIdx.x < 2) reinterpret_cast<std::uint32_t*>(shared + Shape::kZero)[threadIdx.x] = 0;
  asm volatile("bar.sync 7, %0;" ::"n"(Shape::kGroups * 128) : "memory");
  WgmmaConsumer<Shape, kKind> consumer(job, plan, shared);
  wait_for_previous_kernel();
  const auto outputs_of = [&](int tile) {
    return LaneOutputs(job, image, tile / plan.token_groups * Shape::kRows,
                       tile % plan.token_groups * Shape::kTokens);
  };
  for (TileWalk walk(plan, blockIdx.x); walk.valid(); walk.advance(plan)) {
    consumer.begin_tile(image.factors, walk.tile);
    int stage = walk.begin;
    do {
      consumer.multiply_stage();
    } while (++stage < walk.end);
    consumer.finish_tile();
    if (walk.is_whole(plan)) {
      const LaneOutputs outputs = outputs_of(walk.tile);
#pragma unroll
      for (int i = 0; i < Shape::kTokens / 8; ++i) {
        outputs.store(i, make_float4(consumer.sums_[4 * i], consumer.sums_[4 * i + 1],
                                     consumer.sums_[4 * i + 2], consumer.sums_[4 * i + 3]));
      }
    } else {
      SharedTile<Shape>(plan, split, walk.tile).leave(consumer.sums_);
    }
  }
  for (TileWalk walk(plan, blockIdx.x); walk.valid(); walk.advance(plan)) {
    if (walk.is_whole(plan)) continue;
    SharedTile<Shape>(plan, split, walk.tile).add_up(outputs_of(walk.tile));
  }
}

#endif

template <class Shape, ScaleKind kKind>
__global__ void __maxnreg__(Shape::kRegisters)
    wgmma_decode(const __grid_constant__ CUtensorMap map, const __grid_constant__ Job job,
                 const __grid_constant__ StagePlan plan, const __grid_constant__ TokenImage image,
                 const __grid_constant__ SplitSums split) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::uint8_t shared[];
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  if (threadIdx.x == 0) {
    const WgmmaRings<Shape> rings(shared_address(shared));
    rings.weights.init(Shape::kGroups * 4);
    rings.tokens.init(Shape::kGroups * 4);
    publish_barriers();
  }
  __syncthreads();
  allow_next_kernel();
  if (warp >= Shape::kGroups * 4) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == Shape::kGroups * 128) {
      produce_weights<Shape>(map, plan, shared_address(shared));
    }
    if (threadIdx.x == Shape::kGroups * 128 + 32) {
      wait_for_previous_kernel();
      produce_tokens<Shape>(image, plan, shared_address(shared));
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Shape::kConsumerRegisters));
    consume<Shape, kKind>(job, plan, image, split, shared);
  }
#endif
}

}  // namespace nf4bench::kernels::cuda
