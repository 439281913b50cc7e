#pragma once

// The tensor cores' 16-bit products with weights that are decoded into registers, as dequantization
// gives them: a byte of the weight reads a pair of codebook values from a table in shared memory,
// both are multiplied by the scale in float32, and rounded. Sums are float32. A block does stages
// of tiles one after the other, as StagePlan says; where several blocks share a tile they leave
// their sums in the workspace, and a second kernel adds them up in the order of the blocks.

#include "cuda/codebook.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/scales/table_scales.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"
#include "cuda/matmul/table/lane_products.cuh"
#include "cuda/matmul/table/table_stage.cuh"

namespace nf4bench::kernels::cuda {

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
__device__ __forceinline__ void store_piece(const Job& job, const TokenFactors& factors,
                                            TileOrigin tile, int piece, float4 sums) {
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
      static_cast<std::uint16_t*>(job.output)[(token + m) * output_stride(job) + output] =
          round_to<kType>(__fadd_rn(sum_of<kType>(values[r][m], factors, token + m), bias));
    }
  }
}

// Each lane of a half warp has a copy of the table, so that no two meet in a bank.
__device__ __forceinline__ void fill_pair_table(float2* pairs) {
  for (int i = threadIdx.x; i < kCodes * kCodes * 16; i += kTableThreads) {
    pairs[i] = make_float2(kCodebook[i / 16 >> 4], kCodebook[i / 16 & 15]);
  }
}

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
  const float* map =
      Traits::kRagged ? job.nested_map : reinterpret_cast<const float*>(shared + Layout::kMap);
  StageCopies<Traits> copies(job, tile, part.begin);
  TableScales<Traits> scales(job, shape, tile, part.begin);
  const LaneProducts<kProductType<kType>, Traits> products(job, shape, tile.row,
                                                           shared_address(shared));
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

template <OutputType kType, class Traits>
__device__ __forceinline__ void multiply_table(const Job& job, const TokenFactors& factors,
                                               const StagePlan& plan, const TableShape& shape,
                                               const SplitParts& parts) {
  using Layout = TableLayout<Traits>;
  extern __shared__ __align__(1024) std::uint8_t shared[];
  fill_pair_table(reinterpret_cast<float2*>(shared));
  allow_next_kernel();
  wait_for_previous_kernel();
  if (!Traits::kRagged && job.nested && threadIdx.x < 256) {
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
        store_piece<kType, Traits>(job, factors, tile, i, pieces[i]);
      } else {
        __stcg(own + i, pieces[i]);
      }
    }
    __syncthreads();  // the ring is free again
  }
}

template <OutputType kType, class Traits>
__global__ void __launch_bounds__(kTableThreads, 1)
    mma_table(const __grid_constant__ Job job, const __grid_constant__ TokenFactors factors,
              const __grid_constant__ StagePlan plan, const __grid_constant__ TableShape shape,
              const __grid_constant__ SplitParts parts) {
#if defined(__CUDA_ARCH__)
  if constexpr (__CUDA_ARCH__ >= 800 || TableLayout<Traits>::kFitsTuring) {
    multiply_table<kType, Traits>(job, factors, plan, shape, parts);
  }
#endif
}

inline constexpr int kJoinThreads = 256;

// Adds up the parts of split tiles. A thread has one piece of a tile.
template <OutputType kType, class Traits>
__global__ void __launch_bounds__(kJoinThreads)
    join_table(const __grid_constant__ Job job, const __grid_constant__ TokenFactors factors,
               const __grid_constant__ StagePlan plan, const __grid_constant__ SplitParts parts) {
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
  store_piece<kType, Traits>(job, factors, tile_origin<Traits>(plan, plan.whole + split_tile),
                             piece, sum);
}

}  // namespace nf4bench::kernels::cuda
