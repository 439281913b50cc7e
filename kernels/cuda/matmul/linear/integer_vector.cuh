#pragma once

// One token. A warp multiplies boxes of 16 rows x 256 weights, which are four blocks a row, and
// lane t of each quad (four lanes that share a row) owns the whole t-th block. The tensor core sums
// over a quad's lanes; so that the four blocks, which have four scales, stay apart, B is zero but
// where the pair of columns has the number of the lane: columns 2t and 2t + 1 hold both bytes of
// the activations of block t. What leaves the tensor core for a lane is then its own block's sum.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/activations.cuh"
#include "cuda/matmul/linear/line_and_residual.cuh"
#include "cuda/matmul/linear/linear_plan.hpp"
#include "cuda/matmul/linear/weight_ring.cuh"
#include "cuda/matmul/persistent_launch.cuh"
#include "cuda/matmul/scales/lane_scales.cuh"
#include "cuda/matmul/schedule/unit_walk.cuh"

namespace nf4bench::kernels::cuda {

#if __CUDA_ARCH__ >= 800

// Writes the activations to shared memory as the tensor core wants them, and the terms of each
// block: the step, and what the intercept adds to the sum.
template <OutputType kType, class Meanwhile>
__device__ __forceinline__ void quantize_vector(const Job& job, int boxes, std::uint8_t* shared,
                                                Meanwhile meanwhile) {
  const VectorLayout layout(boxes, 0);
  const auto write = [&](Eight at, const Quantized& q) {
    const unsigned index = at.box * 4 + at.place / 8;
    std::uint8_t* block = shared + layout.planes + index * LineAndResidual::kBlockBytes;
    const auto eight = static_cast<int>(at.place % 8);
    const SignedBytes even = q.bytes(0, 2, 4, 6);
    const SignedBytes odd = q.bytes(1, 3, 5, 7);
    LineAndResidual::write(block, eight, even.high, odd.high);
    LineAndResidual::write(block + layout.plane_bytes, eight, even.low, odd.low);
    if (eight == 0) {
      constexpr auto kShare = static_cast<float>(LineAndResidual::kIntercept);
      reinterpret_cast<float2*>(shared + VectorLayout::kTerms)[index] =
          make_float2(q.step * static_cast<float>(1.0 / LineAndResidual::kSteps),
                      kShare * static_cast<float>(q.sum));
    }
  };
  quantize_range<kType, kUnitThreads, 1>(job, {0, boxes}, meanwhile, write);
}

// The lane's block of a box: half a block, four words, at a time.
struct BoxWords {
  uint4 first[2];
  uint4 second[2];
};

// Where a lane finds its operands in shared memory. Lane t owns block t of a box.
class VectorLane {
 public:
  // `slots` is its warp's ring.
  __device__ __forceinline__ VectorLane(const VectorLayout& layout, std::uint32_t shared,
                                        std::uint32_t slots)
      : zero(load_shared_8(shared + VectorLayout::kZeros).x) {
    const int row = threadIdx.x % 32 / 4;
    const int t = threadIdx.x % 4;
    const bool owns = row / 2 == t;  // else this lane's part of B is zero
    activations_ = keep(shared + (owns ? layout.planes + row % 2 * layout.plane_bytes +
                                             t * LineAndResidual::kBlockBytes
                                       : VectorLayout::kZeros));
    activations_a_box_ = keep(owns ? 4 * LineAndResidual::kBlockBytes : 0);
    block_[0] = keep(slots + swizzled(row, 2 * t));
    block_[1] = keep(slots + swizzled(row, 2 * t + 1));
    terms_ = keep(shared + VectorLayout::kTerms + t * sizeof(float2));
  }

  // Its block of a box, and a mix of it: known only when all has been loaded.
  __device__ __forceinline__ std::uint32_t load(BoxWords& words, std::uint32_t slot) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      words.first[half] = load_shared_16(block_[half] + slot);
      words.second[half] = load_shared_16(block_[half] + slot + 8 * kBoxBytes);
    }
    return words.first[0].w ^ words.first[1].w ^ words.second[0].w ^ words.second[1].w;
  }

  // Adds a box's products to the sums of the lane's rows.
  __device__ __forceinline__ void multiply(float (&sums)[2], const LineAndResidual::Tables& tables,
                                           const BoxWords& words, const float (&scales)[2],
                                           int box) const {
    const std::uint32_t activations = activations_ + box * activations_a_box_;
    LineAndResidual::Sums products;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      LineAndResidual::Activations b[2];
      LineAndResidual::load(b, activations, half);
      const uint4 first = words.first[half];
      const uint4 second = words.second[half];
      LineAndResidual::multiply(products, {tables, {{first.x, second.x}, {first.y, second.y}}},
                                b[0]);
      LineAndResidual::multiply(products, {tables, {{first.z, second.z}, {first.w, second.w}}},
                                b[1]);
    }
    const uint2 bits = load_shared_8(terms_ + box * 4 * sizeof(float2));
    const float2 term = make_float2(__uint_as_float(bits.x), __uint_as_float(bits.y));
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sums[r] = __fmaf_rn(scales[r] * term.x, products.total(r) + term.y, sums[r]);
    }
  }

  const std::uint32_t zero;  // as WeightRing::release() wants it

 private:
  std::uint32_t activations_;        // of the first box
  std::uint32_t activations_a_box_;  // from one to the next
  std::uint32_t block_[2];  // halves of its block of a box, of its first row; the second is 8
                            // further down
  std::uint32_t terms_;
};

// Multiplies the units of a warp, from `walk` on, and leaves the lane's sums of each to `partials`.
// `inputs_of(tile)`: boxes of activations before those of the tile.
template <ScaleKind kKind, int kBoxes, class Ring, class NextFill, class LoadScales, class InputsOf>
__device__ __forceinline__ void multiply_units(
    UnitWalk& walk, int tiles, const UnitPlan& plan, Ring& ring, const NextFill& next_fill,
    const LaneScales<kKind, kBoxes>& next_scales, const LoadScales& load_scales,
    const NestedMap& nested_map, const VectorLane& operands, const LineAndResidual::Tables& tables,
    float* partials, const InputsOf& inputs_of) {
  unsigned count = 0;  // boxes done
  for (; walk.tile < tiles; count += kBoxes) {
    float scales[kBoxes][2];
#pragma unroll
    for (int i = 0; i < kBoxes; ++i) {
      scales[i][0] = next_scales.scale(nested_map, i, 0);
      scales[i][1] = next_scales.scale(nested_map, i, 1);
    }
    const int first_box = walk.unit * kBoxes;
    const int first_input = inputs_of(walk.tile);
    float* partial = partials + (walk.tile * plan.units + walk.unit) * kBoxRows * 4;
    walk.advance(plan);
    load_scales();
    float sum[2] = {0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < kBoxes; ++i) {
      const unsigned n = count + i;
      ring.wait(n);
      BoxWords words;
      ring.release(operands.load(words, ring.offset(n)), operands.zero);
      ring.fill(n + kUnitSlots, next_fill(n + kUnitSlots));
      const int box = first_box + i;
      if (box < plan.boxes) operands.multiply(sum, tables, words, scales[i], first_input + box);
    }
    partial[0] = sum[0];
    partial[8 * 4] = sum[1];
  }
}

// Sums what the units of each row and the lanes of their quads have left, kLanes lanes a row, and
// writes the outputs.
template <OutputType kType, int kLanes>
__device__ __forceinline__ void sum_rows(const Job& job, const UnitPlan& plan,
                                         const float4* partials) {
  for (int i = threadIdx.x; i < own_tiles(plan) * kBoxRows * kLanes; i += kUnitThreads) {
    const int tile = i / (kBoxRows * kLanes);
    const int row = i / kLanes % kBoxRows;
    float sum = 0.0f;
    for (int unit = i % kLanes; unit < plan.units; unit += kLanes) {
      const float4 quad = partials[(tile * plan.units + unit) * kBoxRows + row];
      sum += (quad.x + quad.y) + (quad.z + quad.w);
    }
#pragma unroll
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    }
    const int output = first_row(tile) + row;
    if (i % kLanes == 0 && output < job.outputs) {
      static_cast<std::uint16_t*>(job.output)[output] = finish_output<kType>(job, output, sum);
    }
  }
}

// As many lanes a row as let all rows be summed at once.
template <OutputType kType>
__device__ __forceinline__ void finish_vector(const Job& job, const UnitPlan& plan,
                                              const float4* partials) {
  const int rows = own_tiles(plan) * kBoxRows;
  if (rows * 8 <= kUnitThreads) return sum_rows<kType, 8>(job, plan, partials);
  if (rows * 4 <= kUnitThreads) return sum_rows<kType, 4>(job, plan, partials);
  sum_rows<kType, 2>(job, plan, partials);
}

#endif

template <OutputType kType, ScaleKind kKind, int kBoxes>
__global__ void __launch_bounds__(kUnitThreads, 1)
    integer_vector(const __grid_constant__ CUtensorMap map, const __grid_constant__ Job job,
                   const __grid_constant__ UnitPlan plan,
                   const __grid_constant__ LineAndResidual::Tables initial_tables) {
#if __CUDA_ARCH__ >= 800
  using Layout = VectorLayout;
  using Tables = LineAndResidual::Tables;
  extern __shared__ __align__(1024) std::uint8_t shared[];
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
  const int row = threadIdx.x % 32 / 4;
  const int quad_lane = threadIdx.x % 4;
  const int tiles = own_tiles(plan);
  const Layout layout(plan.boxes, tiles * plan.units);

  using Ring = WeightRing<kUnitSlots>;
  const std::uint32_t slots = shared_address(shared) + warp * Ring::kBytes;
  Ring ring(map, job, slots,
            shared_address(shared) + Layout::kBarriers + warp * Ring::kBarrierBytes);
  UnitWalk fills(warp, tiles, plan);  // where the ring's next fill comes from
  const auto next_fill = [&](unsigned n) -> BoxPosition {
    if (n != 0 && n % kBoxes == 0) fills.advance(plan);
    return {first_row(fills.tile), fills.unit * kBoxes + static_cast<int>(n % kBoxes),
            fills.tile < tiles};
  };

  const auto fill_slots = [&](int first, int last) {
#pragma unroll
    for (int n = first; n < last; ++n) ring.fill(n, next_fill(n));
  };
  if constexpr (!kActivationsFirst) fill_slots(0, kUnitSlots);

  UnitWalk walk(warp, tiles, plan);
  LaneScales<kKind, kBoxes> next_scales;
  const auto load_scales = [&] {
    if (walk.tile >= tiles) return;
    const int last = static_cast<int>(job.outputs) - 1;
    const int top = first_row(walk.tile) + row;
    next_scales.load(job, {min(top, last), min(top + 8, last), walk.unit * kBoxes});
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
  if constexpr (kActivationsFirst) fill_slots(0, kEarlySlots);
  allow_next_kernel();

  if (threadIdx.x < 32) {
    reinterpret_cast<std::uint32_t*>(shared + Layout::kZeros)[threadIdx.x] = 0;
  }
  if (threadIdx.x < kTableWords<Tables>) {
    reinterpret_cast<std::uint32_t*>(shared + Layout::kTables)[threadIdx.x] =
        table_word(initial_tables, threadIdx.x);
  }
  wait_for_previous_kernel();
  quantize_vector<kType>(job, plan.boxes, shared, [&] {
    if constexpr (kActivationsFirst) fill_slots(kEarlySlots, kUnitSlots);
    if (kHasMap && threadIdx.x < 256) scale_map[threadIdx.x] = map_value;
  });
  __syncthreads();

  const Tables tables = load_tables<Tables>(shared_address(shared) + Layout::kTables);
  const VectorLane operands(layout, shared_address(shared), slots);
  auto* partials = reinterpret_cast<float*>(shared + layout.partials) + row * 4 + quad_lane;

  multiply_units(walk, tiles, plan, ring, next_fill, next_scales, load_scales, nested_map, operands,
                 tables, partials, [](int) { return 0; });
  __syncthreads();
  finish_vector<kType>(job, plan, reinterpret_cast<const float4*>(shared + layout.partials));
#endif
}

}  // namespace nf4bench::kernels::cuda
