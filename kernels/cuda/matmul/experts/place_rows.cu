// A thread has an output of a slot.

#include "cuda/arithmetic.cuh"
#include "cuda/dependent_launch.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/activations.cuh"
#include "cuda/matmul/experts/place_rows.hpp"
#include "cuda/matmul/experts/slot_weight.cuh"
#include "routing.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kThreads = 256;

struct SortedRows {
  const std::uint16_t* products;
  const int* order;
  std::int64_t count;
  float* sums;
};

template <OutputType kType>
__global__ void __launch_bounds__(kThreads)
    place_rows(const __grid_constant__ Job job, const SortedRows rows) {
  allow_next_kernel();
  wait_for_previous_kernel();
  const std::int64_t index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= rows.count * job.outputs) return;
  const std::int64_t slot = rows.order[index / job.outputs];
  const std::int64_t n = index % job.outputs;
  float value = widen<kType>(rows.products[index]).x;
  if (job.bias != nullptr) {
    value += bias_of<kType>(job, std::int64_t{chosen_expert(job, slot)} * job.outputs + n);
  }
  value *= slot_weight(job, slot);
  if (rows.sums != nullptr) {
    rows.sums[slot * job.outputs + n] = value;
  } else {
    static_cast<std::uint16_t*>(job.output)[slot * job.outputs + n] = round_to<kType>(value);
  }
}

}  // namespace

void launch_place_rows(const Job& job, const Launch& launch, const void* products, const int* order,
                       std::int64_t count, float* sums) {
  if (count == 0) return;
  const SortedRows rows = {static_cast<const std::uint16_t*>(products), order, count, sums};
  const unsigned grid = grid_size(count * job.outputs, kThreads);
  dispatch_16_bit(job, [&](auto type) {
    launch_dependent(launch, grid, kThreads, place_rows<decltype(type)::value>, job, rows);
  });
}

}  // namespace nf4bench::kernels::cuda
