// Fused, for whatever shape, type and layout: a warp has an output, or where matrices are
// transposed 32 neighbouring ones, a lane each.

#include "cuda/arithmetic.cuh"
#include "cuda/codebook.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/activations.cuh"
#include "cuda/matmul/experts/slot_weight.cuh"
#include "cuda/matmul/experts/variants.hpp"
#include "routing.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <OutputType kType>
__device__ float number_at(const void* values, std::int64_t index) {
  if constexpr (kType == OutputType::kFloat32) {
    return __ldg(static_cast<const float*>(values) + index);
  } else {
    return widen<kType>(__ldg(static_cast<const std::uint16_t*>(values) + index)).x;
  }
}

template <bool kNested>
__device__ float expert_scale(const Job& job, int expert, std::int64_t block) {
  if constexpr (kNested) {
    const float value = __ldg(job.nested_map + __ldg(job.absmax_codes + block));
    const float absmax = __ldg(job.nested_absmax + (block >> 8));
    const float offset = __ldg(job.nested_offset + (job.group.own_offsets ? expert : 0));
    return __fadd_rn(multiply_flushed(value, absmax), offset);
  } else {
    return block_scale<false>(job, block);
  }
}

// The products of inputs first, first + step, ... of a slot with a row of its expert's matrix.
template <OutputType kType, bool kNested>
__device__ float add_inputs(const Job& job, std::int64_t slot, int expert, std::int64_t n,
                            int first, int step) {
  const std::int64_t row = input_row(job, slot) * job.inputs;
  float sum = 0.0f;
  for (std::int64_t k = first; k < job.inputs; k += step) {
    const std::int64_t element = element_of(job, expert, n, k);
    const unsigned code = __ldg(job.packed + element / 2) >> (element % 2 == 0 ? 4 : 0) & 15;
    const float scale = expert_scale<kNested>(job, expert, element >> job.block_shift);
    sum = __fmaf_rn(kCodebook[code] * scale, number_at<kType>(job.input, row + k), sum);
  }
  return sum;
}

template <OutputType kType, bool kNested>
__global__ void __launch_bounds__(kThreads) grouped_any(const __grid_constant__ Job job) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t warp = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  const std::int64_t columns = job.transposed ? (job.outputs + 31) / 32 : job.outputs;
  const std::int64_t added = job.group.sums_slots ? job.group.top_k : 1;
  const std::int64_t row = warp / columns;
  if (row >= job.tokens * job.group.top_k / added) return;
  const std::int64_t n = job.transposed ? warp % columns * 32 + lane : warp % columns;
  if (n >= job.outputs) return;
  float total = 0.0f;
  for (std::int64_t slot = row * added; slot < (row + 1) * added; ++slot) {
    const int expert = expert_of(job, slot);
    if (expert < 0) continue;
    float sum = 0.0f;
    if (job.transposed) {
      sum = add_inputs<kType, kNested>(job, slot, expert, n, 0, 1);
    } else {
      sum = add_inputs<kType, kNested>(job, slot, expert, n, lane, 32);
      for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    if (job.bias != nullptr) sum += number_at<kType>(job.bias, expert * job.outputs + n);
    total += sum * slot_weight(job, slot);
  }
  using Bits = decltype(round_to<kType>(0.0f));
  if (job.transposed || lane == 0) {
    static_cast<Bits*>(job.output)[row * job.outputs + n] = round_to<kType>(total);
  }
}

const char* unsupported(const Problem& problem, const DeviceFacts&) {
  return slots_of(problem) * problem.outputs < std::int64_t{1} << 33
             ? nullptr
             : "needs fewer than 2^33 outputs";
}

}  // namespace

Variant experts_grouped_any() {
  Variant variant;
  variant.name = "grouped_any";
  variant.summary = "fused, any shape, type and layout; a warp an output";
  variant.traits.mirrors = "the operation's definition";
  variant.unsupported = unsupported;
  variant.launch = [](const Job& job, const Launch& launch) {
    const std::int64_t rows = job.group.sums_slots ? job.tokens : slots_of(job);
    const std::int64_t columns = job.transposed ? block_count(job.outputs, 32) : job.outputs;
    dispatch(job, [&](auto type, auto nested) {
      grouped_any<decltype(type)::value, decltype(nested)::value>
          <<<grid_size(rows * columns, kThreads / 32), kThreads, 0, launch.stream>>>(job);
    });
  };
  return variant;
}

}  // namespace nf4bench::kernels::cuda
