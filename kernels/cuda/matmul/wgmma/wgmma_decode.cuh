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
#include "cuda/matmul/wgmma/tile_sums.cuh"
#include "cuda/matmul/wgmma/wgmma.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

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
