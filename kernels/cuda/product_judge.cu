#include "cuda/device_tools.hpp"
#include "cuda/dispatch.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kValuesAThread = 8;  // while there are so many

__device__ double number(__half value) {
  return __half2float(value);
}
__device__ double number(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ double number(float value) {
  return value;
}

__device__ double sum_of_warp(double value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(~0u, value, lanes);
  return value;
}

__device__ unsigned long long sum_of_warp(unsigned long long value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(~0u, value, lanes);
  return value;
}

__device__ double greatest_of_warp(double value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value = fmax(value, __shfl_down_sync(~0u, value, lanes));
  }
  return value;
}

// Numbers that are not negative have the order of their bits.
__device__ void raise_to(double* place, double value) {
  atomicMax(reinterpret_cast<unsigned long long*>(place),
            static_cast<unsigned long long>(__double_as_longlong(value)));
}

__device__ void add(const ProductErrors& found, ProductErrors* total) {
  const double truth_squares = sum_of_warp(found.truth_squares);
  const double error_squares = sum_of_warp(found.error_squares);
  const double largest = greatest_of_warp(found.largest);
  const unsigned long long count = sum_of_warp(found.count);
  if (threadIdx.x % 32 != 0 || count == 0) return;
  atomicAdd(&total->truth_squares, truth_squares);
  atomicAdd(&total->error_squares, error_squares);
  raise_to(&total->largest, largest);
  atomicAdd(&total->count, count);
}

// A row of blocks for each pair.
template <class Value>
__global__ void __launch_bounds__(kThreads)
    judge(const OutputPair* pairs, std::int64_t values, TypeRange range, DeviceVerdict* verdicts) {
  const OutputPair pair = pairs[blockIdx.y];
  DeviceVerdict* const verdict = &verdicts[blockIdx.y];
  const auto* const bounds = static_cast<const ProductBound*>(pair.expected);
  const auto* const actual = static_cast<const Value*>(pair.actual);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  ProductErrors errors;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < values;
       i += stride) {
    const ProductBound bound = bounds[i];
    const double got = number(actual[i]);
    errors.add(bound.value, got);
    const ProductJudgement judgement = judge_product(range, bound, got);
    if (judgement == ProductJudgement::kExact) continue;
    atomicAdd(&verdict->beyond_exact, 1ull);
    if (judgement == ProductJudgement::kRounded) continue;
    atomicAdd(&verdict->mismatches, 1ull);
    atomicMin(&verdict->first_mismatch, static_cast<unsigned long long>(i));
  }
  add(errors, &verdict->errors);
}

}  // namespace

void launch_product_judge(const OutputPairs& outputs, DeviceVerdict* verdicts,
                          CUstream_st* stream) {
  const dim3 grid = grid_of_rows(outputs.values, kThreads * kValuesAThread, outputs.count);
  const TypeRange range = range_of(outputs.type);
  switch (outputs.type) {
    case OutputType::kFloat16:
      return judge<__half>
          <<<grid, kThreads, 0, stream>>>(outputs.pairs, outputs.values, range, verdicts);
    case OutputType::kBfloat16:
      return judge<__nv_bfloat16>
          <<<grid, kThreads, 0, stream>>>(outputs.pairs, outputs.values, range, verdicts);
    case OutputType::kFloat32:
      return judge<float>
          <<<grid, kThreads, 0, stream>>>(outputs.pairs, outputs.values, range, verdicts);
  }
}

}  // namespace nf4bench::kernels::cuda
