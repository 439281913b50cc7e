// A thread has four outputs of a token, or of a slot; of gates and ups in turns two.

#include "activation.hpp"
#include "cuda/arithmetic.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/experts/combine_slots.hpp"
#include "routing.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kCombineThreads = 256;
constexpr int kLoadsAtOnce = 8;

// Of four values the first `count`, or all together where all rows begin at 16 bytes.
__device__ __forceinline__ float4 load_parts(const float* from, int count, bool together) {
  if (together) return *reinterpret_cast<const float4*>(from);
  return {from[0], count > 1 ? from[1] : 0.0f, count > 2 ? from[2] : 0.0f,
          count > 3 ? from[3] : 0.0f};
}

// Which of the sums a row of y is made of, and which slots have an expert.
class SlotTotals {
 public:
  __device__ __forceinline__ SlotTotals(const Job& job, const float* sums, std::int64_t row,
                                        unsigned parts)
      : job_(job), parts_(parts), count_((job.group.sums_slots ? job.group.top_k : 1) * parts) {
    first_ = row * count_;
    sums_ = sums + first_ * job.outputs;
    // Where ids are the ends of experts' slots.
    for (std::int64_t i = 0; job.group.ends && i < job.group.experts; ++i) {
      sorted_ = max(sorted_, id_at(job, i));
    }
  }

  // Of `count` columns from n on, up to four.
  __device__ __forceinline__ void add_up(float (&total)[4], std::int64_t n, int count) const {
#pragma unroll
    for (float& sum : total) sum = 0.0f;
    const float* from = sums_ + n;
    for (std::int64_t first = first_, end = first + count_; first < end; first += kLoadsAtOnce) {
      // All are asked for at once, also what a slot without an expert has left.
      float4 loaded[kLoadsAtOnce];
      bool is_one[kLoadsAtOnce];
#pragma unroll
      for (int i = 0; i < kLoadsAtOnce; ++i) {
        is_one[i] = first + i < end;
        if (!is_one[i]) continue;
        loaded[i] = load_parts(from, count, (job_.outputs | n) % 4 == 0);
        from += job_.outputs;
        const std::int64_t slot =
            parts_ == 1 ? first + i : static_cast<unsigned>(first + i) / parts_;
        is_one[i] = job_.group.ends ? slot < sorted_ : chosen_expert(job_, slot) >= 0;
      }
#pragma unroll
      for (int i = 0; i < kLoadsAtOnce; ++i) {
        if (!is_one[i]) continue;
        total[0] = __fadd_rn(total[0], loaded[i].x);
        total[1] = __fadd_rn(total[1], loaded[i].y);
        total[2] = __fadd_rn(total[2], loaded[i].z);
        total[3] = __fadd_rn(total[3], loaded[i].w);
      }
    }
  }

 private:
  const Job& job_;
  unsigned parts_;
  std::int64_t count_;       // of sums that are added up
  std::int64_t first_;       // of these
  const float* sums_;        // its first column
  std::int64_t sorted_ = 0;  // slots that have an expert
};

template <OutputType kType>
__global__ void __launch_bounds__(kCombineThreads)
    combine_slots(const __grid_constant__ Job job, const __grid_constant__ Activation of,
                  const float* sums, unsigned parts, unsigned row_blocks) {
  allow_next_kernel();
  wait_for_previous_kernel();
  const std::int64_t row = blockIdx.x / row_blocks;
  const std::int64_t n = std::int64_t{blockIdx.x % row_blocks * kCombineThreads + threadIdx.x} * 4;
  const std::int64_t columns = output_columns(job);
  const std::int64_t end = job.group.in_turns ? job.outputs : columns;
  if (n >= end) return;
  const auto count = static_cast<int>(min(end - n, std::int64_t{4}));
  const SlotTotals totals(job, sums, row, parts);
  float total[4];
  totals.add_up(total, n, count);
  auto* to = static_cast<std::uint16_t*>(job.output) + row * columns;
  const ActivationFunction activate(of);
  if (job.group.in_turns) {
    if (count > 1) to[n / 2] = round_to<kType>(activate.fast(total[0], total[1]));
    if (count > 3) to[n / 2 + 1] = round_to<kType>(activate.fast(total[2], total[3]));
    return;
  }
  if (job.group.activates) {
    float ups[4];
    totals.add_up(ups, columns + n, count);
#pragma unroll
    for (int c = 0; c < 4; ++c) total[c] = activate.fast(total[c], ups[c]);
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (c < count) to[n + c] = round_to<kType>(total[c]);
  }
}

}  // namespace

void launch_combine_slots(const Job& job, const Launch& launch, const float* sums, int parts) {
  const std::int64_t columns = job.group.in_turns ? job.outputs : output_columns(job);
  const unsigned row_blocks = grid_size(columns, kCombineThreads * 4);
  const std::int64_t rows = job.group.sums_slots ? job.tokens : slots_of(job);
  const auto grid = static_cast<unsigned>(rows) * row_blocks;
  const Activation of = job.group.activates ? *job.activation : Activation();
  dispatch_16_bit(job, [&](auto type) {
    launch_dependent(launch, grid, kCombineThreads, combine_slots<decltype(type)::value>, job, of,
                     sums, static_cast<unsigned>(parts), row_blocks);
  });
}

}  // namespace nf4bench::kernels::cuda
