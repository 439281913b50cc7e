#pragma once

// Two to four tokens. The columns of the tensor core are four tokens' activations, two bytes each,
// so that a block's sum is whole only over all four lanes of a quad: they do block after block
// together. Every block makes integers of the activations for itself, in the order in which lanes
// want them.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/activations.cuh"
#include "cuda/matmul/linear/line_and_residual.cuh"
#include "cuda/matmul/linear/linear_plan.hpp"
#include "cuda/matmul/linear/weight_ring.cuh"
#include "cuda/matmul/persistent_launch.cuh"
#include "cuda/matmul/scales/lane_scales.cuh"
#include "cuda/matmul/schedule/unit_walk.cuh"

namespace nf4bench::kernels::cuda {

// Writes eight activations of a token to the image of their box.
__device__ __forceinline__ void write_image(std::uint8_t* box, Eight at, const Quantized& q) {
  using Image = BoxImage;
  const unsigned block = at.place / 8;
  const unsigned word = at.place % 8;  // lane t of a quad takes words 2t and 2t + 1
  // Of the high bytes' column; the low bytes' is next.
  const unsigned lane = at.token * 8 + word / 2;
  std::uint8_t* operands = box + block * Image::kBlockBytes + word % 2 * 8;
  const SignedBytes first = q.bytes(1, 0, 3, 2);
  const SignedBytes second = q.bytes(5, 4, 7, 6);
  *reinterpret_cast<uint2*>(operands + operand_place(block, lane)) =
      make_uint2(first.high, second.high);
  *reinterpret_cast<uint2*>(operands + operand_place(block, lane + 4)) =
      make_uint2(first.low, second.low);
  if (word == 0) {
    constexpr auto kShare = static_cast<float>(LineAndResidual::kIntercept);
    auto* terms = reinterpret_cast<float2*>(box + Image::kTerms + block * Image::kBlockTermBytes);
    terms[at.token] = make_float2(q.step * static_cast<float>(1.0 / LineAndResidual::kSteps),
                                  kShare * static_cast<float>(q.sum));
  }
}

#if __CUDA_ARCH__ >= 800

// A lane's words of a box: two of each block and row.
struct QuadWords {
  uint2 first[4];
  uint2 second[4];
};

// Where a lane finds its part of a block's image.
struct BlockImage {
  std::uint32_t operands;
  std::uint32_t terms;
};

// Adds a block's products to the sums of the lane's rows and token.
__device__ __forceinline__ void multiply_block(float (&sums)[2],
                                               const LineAndResidual::Weights& weights,
                                               BlockImage image, const float (&scales)[2]) {
  const uint4 b = load_shared_16(image.operands);
  LineAndResidual::Sums block;
  LineAndResidual::multiply(block, weights, LineAndResidual::split(b));
  const uint2 bits = load_shared_8(image.terms);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    sums[r] = __fmaf_rn(scales[r] * __uint_as_float(bits.x),
                        block.total(r) + __uint_as_float(bits.y), sums[r]);
  }
}

// Makes a slice of the image in shared memory, once all warps are done with the one before.
// meanwhile() as in quantize_range().
template <OutputType kType, class Meanwhile>
__device__ __forceinline__ void make_image(const Job& job, const UnitPlan& plan, int slice,
                                           std::uint8_t* target, Meanwhile meanwhile) {
  const int first = slice * plan.slice_boxes;
  if (slice > 0) __syncthreads();
  quantize_range<kType, kUnitThreads, kMostIntegerTokens>(
      job, {first, min(plan.slice_boxes, plan.boxes - first)}, meanwhile,
      [&](Eight at, const Quantized& q) {
        write_image(target + at.box * BoxImage::kBytes, at, q);
      });
  __syncthreads();
}

// Sums over the units of each tile, and writes the outputs.
template <OutputType kType>
__device__ __forceinline__ void finish_tokens(const Job& job, const UnitPlan& plan,
                                              const float* partials) {
  constexpr int kUnitFloats = TokensLayout::kUnitFloats;
  for (int i = threadIdx.x; i < own_tiles(plan) * kBoxRows * kMostIntegerTokens;
       i += kUnitThreads) {
    const int tile = i / (kBoxRows * kMostIntegerTokens);
    const int token = i / kBoxRows % kMostIntegerTokens;
    const int row = i % kBoxRows;
    if (token >= job.tokens) continue;
    const float* sums =
        partials + tile * plan.units * kUnitFloats + row * kMostIntegerTokens + token;
    float sum = 0.0f;
    for (int unit = 0; unit < plan.units; ++unit) sum += sums[unit * kUnitFloats];
    const int output = first_row(tile) + row;
    if (output < job.outputs) {
      static_cast<std::uint16_t*>(
          job.output)[std::int64_t{token} * static_cast<int>(output_stride(job)) + output] =
          finish_output<kType>(job, output, sum);
    }
  }
}

#endif

template <OutputType kType, ScaleKind kKind, int kBoxes>
__global__ void __launch_bounds__(kUnitThreads, 1)
    integer_tokens(const __grid_constant__ CUtensorMap map, const __grid_constant__ Job job,
                   const __grid_constant__ UnitPlan plan,
                   const __grid_constant__ LineAndResidual::Tables initial_tables) {
#if __CUDA_ARCH__ >= 800
  using Layout = TokensLayout;
  using Tables = LineAndResidual::Tables;
  using Image = BoxImage;
  extern __shared__ __align__(1024) std::uint8_t shared[];
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int row = box_row(lane);
  const int quad_lane = lane % 4;
  const int tiles = own_tiles(plan);
  const Layout layout(plan.slice_boxes, tiles * plan.units);

  using Ring = WeightRing<kUnitSlots>;
  const std::uint32_t slots = shared_address(shared) + warp * Ring::kBytes;
  Ring ring(map, job, slots,
            shared_address(shared) + Layout::kBarriers + warp * Ring::kBarrierBytes);
  UnitWalk fills(warp, tiles, plan);  // where the ring's next fill comes from
  const auto next_fill = [&](unsigned n) -> BoxPosition {
    if (n != 0 && n % kBoxes == 0) fills.advance(warp, tiles, plan);
    const int box = fills.unit * kBoxes + static_cast<int>(n % kBoxes);
    return {first_row(fills.tile), fills.slice * plan.slice_boxes + box, fills.valid(plan)};
  };

  const auto fill_slots = [&](int first, int last) {
#pragma unroll
    for (int n = first; n < last; ++n) ring.fill(n, next_fill(n));
  };
  if constexpr (!kActivationsFirst) fill_slots(0, kUnitSlots);

  UnitWalk walk(warp, tiles, plan);
  LaneScales<kKind, kBoxes> next_scales;
  const auto load_scales = [&] {
    if (!walk.valid(plan)) return;
    const int last = static_cast<int>(job.outputs) - 1;
    const int top = first_row(walk.tile) + row;
    const int box = walk.slice * plan.slice_boxes + walk.unit * kBoxes;
    next_scales.load(job, {min(top, last), min(top + 8, last), box});
  };
  load_scales();
  auto* scale_map = reinterpret_cast<float*>(shared + Layout::kMap);
  NestedMap nested_map = {scale_map, 0.0f};
  float map_value = 0.0f;
  constexpr bool kHasMap = kKind != ScaleKind::kPlain;
  if constexpr (kHasMap) {
    if (threadIdx.x < 256) map_value = load_in_place(job.nested_map + threadIdx.x);
    nested_map.offset = nested_offset(job);
  }
  if constexpr (kActivationsFirst) {
    fill_slots(0, kEarlySlots);
  } else if (kHasMap && threadIdx.x < 256) {
    scale_map[threadIdx.x] = map_value;
  }
  allow_next_kernel();
  if (threadIdx.x < kTableWords<Tables> + 4) {
    reinterpret_cast<std::uint32_t*>(shared + Layout::kTables)[threadIdx.x] =
        threadIdx.x < kTableWords<Tables> ? table_word(initial_tables, threadIdx.x) : 0;
  }
  __syncthreads();
  const Tables tables = load_tables<Tables>(shared_address(shared) + Layout::kTables);
  const std::uint32_t zero = load_shared_8(shared_address(shared) + Layout::kZeros).x;
  // This lane's words of a box's first block and row; the piece of the others is an exclusive or
  // away, and the second row 8 further down.
  const std::uint32_t own_words = keep(slots + swizzled(row, quad_lane / 2) + quad_lane % 2 * 8);
  const std::uint32_t own_operands[2] = {
      keep(shared_address(shared) + Layout::kImage + operand_place(0, lane)),
      keep(shared_address(shared) + Layout::kImage + operand_place(1, lane))};
  const std::uint32_t own_terms =
      keep(shared_address(shared) + Layout::kImage + Image::kTerms + quad_lane * sizeof(float2));
  float* own_partials =
      reinterpret_cast<float*>(shared + layout.partials) + row * kMostIntegerTokens + quad_lane;
  wait_for_previous_kernel();

  unsigned count = 0;  // boxes done
  for (int slice = 0; slice < plan.slices; ++slice) {
    const auto meanwhile = [&] {
      if (!kActivationsFirst || slice > 0) return;
      fill_slots(kEarlySlots, kUnitSlots);
      if (kHasMap && threadIdx.x < 256) scale_map[threadIdx.x] = map_value;
    };
    make_image<kType>(job, plan, slice, shared + Layout::kImage, meanwhile);
    const int boxes = min(plan.slice_boxes, plan.boxes - slice * plan.slice_boxes);
    for (; walk.slice == slice; count += kBoxes) {
      float scales[kBoxes][2];
#pragma unroll
      for (int i = 0; i < kBoxes; ++i) {
        scales[i][0] = next_scales.scale(nested_map, i, 0);
        scales[i][1] = next_scales.scale(nested_map, i, 1);
      }
      const int first_box = walk.unit * kBoxes;  // in the slice
      float* partial = own_partials + (walk.tile * plan.units + walk.unit) * Layout::kUnitFloats;
      walk.advance(warp, tiles, plan);
      load_scales();
      float sums[2] = {};
#pragma unroll
      for (int i = 0; i < kBoxes; ++i) {
        const unsigned n = count + i;
        ring.wait(n);
        QuadWords words;
        std::uint32_t read = 0;
#pragma unroll
        for (int block = 0; block < 4; ++block) {
          const std::uint32_t at = (own_words ^ (block << 5)) + ring.offset(n);
          words.first[block] = load_shared_8(at);
          words.second[block] = load_shared_8(at + 8 * kBoxBytes);
          read ^= words.first[block].x ^ words.second[block].x;
        }
        ring.release(read, zero);
        ring.fill(n + kUnitSlots, next_fill(n + kUnitSlots));
        const int box = first_box + i;
        if (box >= boxes) continue;
#pragma unroll
        for (int block = 0; block < 4; ++block) {
          const uint2 first = words.first[block];
          const uint2 second = words.second[block];
          const LineAndResidual::Weights weights(tables,
                                                 {{first.x, second.x}, {first.y, second.y}});
          const float block_scales[2] = {__shfl_sync(0xffffffffu, scales[i][0], block, 4),
                                         __shfl_sync(0xffffffffu, scales[i][1], block, 4)};
          const int offset = box * Image::kBytes;
          multiply_block(sums, weights,
                         {own_operands[block % 2] + offset + block * Image::kBlockBytes,
                          own_terms + offset + block * Image::kBlockTermBytes},
                         block_scales);
        }
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float* at = partial + r * 8 * kMostIntegerTokens;
        *at = (slice == 0 ? 0.0f : *at) + sums[r];
      }
    }
  }
  __syncthreads();
  finish_tokens<kType>(job, plan, reinterpret_cast<const float*>(shared + layout.partials));
#endif
}

}  // namespace nf4bench::kernels::cuda
