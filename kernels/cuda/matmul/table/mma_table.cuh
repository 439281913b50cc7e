#pragma once

// The tensor cores' 16-bit products with weights that are decoded into registers, as dequantization
// gives them: a byte of the weight reads a pair of codebook values from a table in shared memory,
// both are multiplied by the scale in float32, and rounded. Sums are float32. A block does stages
// of tiles one after the other, as StagePlan says; where several blocks share a tile they leave
// their sums in the workspace, and a second kernel adds them up in the order of the blocks.

#include "cuda/codebook.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/scales/table_scales.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"
#include "cuda/matmul/table/table_stage.cuh"

namespace nf4bench::kernels::cuda {

// A lane's sums of 32 rows: of two times 16 rows and of each eight tokens what the tensor core
// gives it, which is rows lane / 4 and 8 further down, tokens 2 (lane % 4) and the next.
template <class Traits>
using LaneSums = float[2][Traits::kEights][4];

// Sums of split tiles, in the workspace: of every block and tile that meet, in pieces of 16 bytes.
// With each step along the split stages the block, the tile or both become the next, so that their
// numbers together tell the place.
struct SplitParts {
  float4* pieces;

  template <class Traits>
  __device__ float4* of(int block, int split_tile) const {
    return pieces + std::int64_t{block + split_tile} * Traits::kPieces;
  }
};

template <class Traits>
__device__ __forceinline__ TileOrigin tile_origin(const StagePlan& plan, int tile) {
  const TilePlace place(plan, tile);
  return {place.rows * Traits::kRows, place.tokens * Traits::kTokens};
}

// Writes a piece of a tile's sums to the output. Pieces: (16 rows of a warp's 32, eight of tokens,
// row warp, lane), the last changing the fastest.
template <OutputType kType, class Traits>
__device__ __forceinline__ void store_piece(const Job& job, TileOrigin tile, int piece,
                                            float4 sums) {
  constexpr int kLanes = Traits::kRowWarps * 32;
  const int lane = piece % 32;
  const int half = piece / kLanes / Traits::kEights;
  const int eight = piece / kLanes % Traits::kEights;
  const int row = tile.row + piece % kLanes / 32 * kWarpRows + half * 16 + lane / 4;
  const int token = tile.token + eight * 8 + lane % 4 * 2;
  const float values[2][2] = {{sums.x, sums.y}, {sums.z, sums.w}};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int output = row + 8 * r;
    if (output >= job.outputs) continue;
    const float bias = bias_of<kType>(job, output);
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      if (token + m >= job.tokens) continue;
      static_cast<std::uint16_t*>(job.output)[(token + m) * job.outputs + output] =
          round_to<kType>(__fadd_rn(values[r][m], bias));
    }
  }
}

#if __CUDA_ARCH__ >= 800

// Each lane of a half warp has a copy of the table, so that no two meet in a bank.
__device__ __forceinline__ void fill_pair_table(float2* pairs) {
  for (int i = threadIdx.x; i < kCodes * kCodes * 16; i += kTableThreads) {
    pairs[i] = make_float2(kCodebook[i / 16 >> 4], kCodebook[i / 16 & 15]);
  }
}

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

// Until the oldest of `slots` - 1 groups of copies has arrived.
__device__ __forceinline__ void wait_for_stage(int slots) {
  if (slots == 2) {
    wait_for_copies<0>();
  } else if (slots == 3) {
    wait_for_copies<1>();
  } else {
    wait_for_copies<2>();
  }
}

// Adds the products of a part of a tile to the sums.
template <OutputType kType, class Traits>
__device__ __forceinline__ void multiply_part(LaneSums<Traits>& sums, const Job& job,
                                              const TableShape& shape, TileOrigin tile,
                                              const TileWalk& part) {
  using Layout = TableLayout<Traits>;
  extern __shared__ __align__(1024) std::uint8_t shared[];
  const auto* map = reinterpret_cast<const float*>(shared + Layout::kMap);
  StageCopies<Traits> copies(job, tile, part.begin);
  TableScales<Traits> scales(job, shape, tile, part.begin);
  const LaneProducts<kType, Traits> products(job, shape, tile.row, shared_address(shared));
  const std::uint32_t ring = shared_address(shared) + Layout::kRing;
  const std::uint32_t ring_end = ring + shape.slots * Layout::kSlotBytes;
  const auto fill = [&](int stage, std::uint32_t slot) {
    if (stage < part.end) copies.copy_next(stage, slot);
    commit_copies();
  };
  int scale_place = Layout::kScales;
  const auto store_scales = [&](int place) {
    scales.store(map, reinterpret_cast<float*>(shared + place));
  };
#pragma unroll 1
  for (int i = 0; i < shape.slots - 1; ++i) fill(part.begin + i, ring + i * Layout::kSlotBytes);
  scales.load_next();
  store_scales(scale_place);
  scales.load_next();
  std::uint32_t slot = ring;
#pragma unroll 1
  for (int stage = part.begin; stage < part.end; ++stage) {
    wait_for_stage(shape.slots);
    __syncthreads();
    fill(stage + shape.slots - 1, (slot == ring ? ring_end : slot) - Layout::kSlotBytes);
    const int next_place = 2 * Layout::kScales + Layout::kScaleBytes - scale_place;
    store_scales(next_place);
    scales.load_next();
    products.multiply(sums, stage,
                      {slot, slot + Layout::kTokens, shared_address(shared) + scale_place});
    scale_place = next_place;
    slot = slot + Layout::kSlotBytes == ring_end ? ring : slot + Layout::kSlotBytes;
  }
}

// Adds up the sums of the warps that did different inputs of the same rows, one after the other, in
// shared memory, as the pieces of a tile. The ring must be free; the block may read them at once.
template <class Traits>
__device__ __forceinline__ void join_depths(const LaneSums<Traits>& sums, float4* pieces) {
  constexpr int kLanes = Traits::kRowWarps * 32;
  const int depth = static_cast<int>(threadIdx.x) / kLanes;
  float4* own = pieces + threadIdx.x % kLanes;
#pragma unroll 1
  for (int turn = 0; turn < Traits::kDepths; ++turn) {
    __syncthreads();
    if (depth != turn) continue;
#pragma unroll
    for (int i = 0; i < 2 * Traits::kEights; ++i) {
      const float* sum = sums[i / Traits::kEights][i % Traits::kEights];
      float4 more = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (turn > 0) more = own[i * kLanes];
      own[i * kLanes] =
          make_float4(sum[0] + more.x, sum[1] + more.y, sum[2] + more.z, sum[3] + more.w);
    }
  }
  __syncthreads();
}

#endif

template <OutputType kType, class Traits>
__global__ void __launch_bounds__(kTableThreads, 1)
    mma_table(const __grid_constant__ Job job, const __grid_constant__ StagePlan plan,
              const __grid_constant__ TableShape shape, const __grid_constant__ SplitParts parts) {
#if __CUDA_ARCH__ >= 800
  using Layout = TableLayout<Traits>;
  extern __shared__ __align__(1024) std::uint8_t shared[];
  fill_pair_table(reinterpret_cast<float2*>(shared));
  allow_next_kernel();
  wait_for_previous_kernel();
  if (job.nested && threadIdx.x < 256) {
    reinterpret_cast<float*>(shared + Layout::kMap)[threadIdx.x] =
        __ldg(job.nested_map + threadIdx.x);
  }
  __syncthreads();
  for (TileWalk walk(plan, static_cast<int>(blockIdx.x)); walk.valid(); walk.advance(plan)) {
    const TileOrigin tile = tile_origin<Traits>(plan, walk.tile);
    LaneSums<Traits> sums = {};
    multiply_part<kType, Traits>(sums, job, shape, tile, walk);
    auto* pieces = reinterpret_cast<float4*>(shared + Layout::kRing);
    join_depths<Traits>(sums, pieces);
    float4* own = parts.of<Traits>(static_cast<int>(blockIdx.x), walk.tile - plan.whole);
#pragma unroll 1
    for (int i = threadIdx.x; i < Traits::kPieces; i += kTableThreads) {
      if (walk.is_whole(plan)) {
        store_piece<kType, Traits>(job, tile, i, pieces[i]);
      } else {
        __stcg(own + i, pieces[i]);
      }
    }
    __syncthreads();  // the ring is free again
  }
#endif
}

inline constexpr int kJoinThreads = 256;

// Adds up the parts of split tiles. A thread has one piece of a tile.
template <OutputType kType, class Traits>
__global__ void __launch_bounds__(kJoinThreads)
    join_table(const __grid_constant__ Job job, const __grid_constant__ StagePlan plan,
               const __grid_constant__ SplitParts parts) {
#if __CUDA_ARCH__ >= 800
  allow_next_kernel();
  wait_for_previous_kernel();
  constexpr int kBlocks = Traits::kPieces / kJoinThreads;  // a tile
  const int split_tile = static_cast<int>(blockIdx.x) / kBlocks;
  const int piece =
      static_cast<int>(blockIdx.x) % kBlocks * kJoinThreads + static_cast<int>(threadIdx.x);
  const TileBlocks blocks(plan, split_tile);
  if (blocks.count == 1) return;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
  for (int block = blocks.first; block < blocks.first + blocks.count; ++block) {
    const float4 part = __ldcg(parts.of<Traits>(block, split_tile) + piece);
    sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
  }
  store_piece<kType, Traits>(job, tile_origin<Traits>(plan, plan.whole + split_tile), piece, sum);
#endif
}

}  // namespace nf4bench::kernels::cuda
