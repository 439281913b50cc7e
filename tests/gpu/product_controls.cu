#include "cuda/arithmetic.cuh"
#include "cuda/codebook.cuh"
#include "product_controls.hpp"

#include <cuda_runtime.h>

namespace nf4bench::test {
namespace {

using kernels::Job;
using kernels::Launch;
using kernels::OutputType;
using kernels::Variant;

constexpr int kThreads = 64;
constexpr long long kLag = 500000;  // cycles

// What is odd about a product.
enum class Way {
  kRight,
  kBackwards,
  kSplit,
  kRoundedWeights,
  kSumsIn16Bits,
  kNextScale,
  kFp8Weights,
  kFp8Activations,
  kOneWeight,
  kWithoutLastBlock,
  kSwappedColumns,
  kTransposed,
  kWithoutNan,
};

__device__ float rounded(OutputType type, float value) {
  return type == OutputType::kFloat16 ? __half2float(__float2half_rn(value))
                                      : __bfloat162float(__float2bfloat16_rn(value));
}

// To 4 significant bits, as FP8 (E4M3) has.
__device__ float to_fp8(float value) {
  if (value == 0.0f || !isfinite(value)) return value;
  const float step = exp2f(floorf(log2f(fabsf(value))) - 3.0f);
  return rintf(value / step) * step;
}

__device__ float number_at(OutputType type, const void* values, std::int64_t index) {
  return type == OutputType::kFloat16
             ? __half2float(static_cast<const __half*>(values)[index])
             : __bfloat162float(static_cast<const __nv_bfloat16*>(values)[index]);
}

__device__ float scale_at(const Job& job, std::int64_t block) {
  return job.nested ? kernels::cuda::block_scale<true>(job, block)
                    : kernels::cuda::block_scale<false>(job, block);
}

__device__ float weight_at(const Job& job, Way way, std::int64_t index) {
  const int pair = job.packed[index / 2];
  int code = index % 2 == 0 ? pair >> 4 : pair & 15;
  std::int64_t block = index >> job.block_shift;
  if (way == Way::kOneWeight && index == 7 * job.inputs + 131) code = code == 15 ? 14 : code + 1;
  if (way == Way::kNextScale) block = min(block + 1, job.blocks - 1);
  if (way == Way::kWithoutLastBlock && index % job.inputs >= job.inputs - 64) return 0.0f;
  float value = kernels::cuda::kCodebook[code];
  float scale = scale_at(job, block);
  if (way == Way::kRoundedWeights) {
    value = rounded(job.output_type, value);
    scale = rounded(job.output_type, scale);
  }
  const float weight = rounded(job.output_type, kernels::cuda::multiply_flushed(value, scale));
  return way == Way::kFp8Weights ? to_fp8(weight) : weight;
}

__device__ float product_at(const Job& job, Way way, std::int64_t x, std::int64_t w) {
  float number = number_at(job.output_type, job.input, x);
  if (way == Way::kFp8Activations) number = to_fp8(number);
  if (way == Way::kWithoutNan && isnan(number)) number = 0.0f;
  return number * weight_at(job, way, w);
}

__device__ float sum_of(const Job& job, Way way, std::int64_t m, std::int64_t n) {
  float total = 0.0f;
  float part = 0.0f;
  for (std::int64_t i = 0; i < job.inputs; ++i) {
    const std::int64_t k = way == Way::kBackwards ? job.inputs - 1 - i : i;
    part += product_at(job, way, m * job.inputs + k, n * job.inputs + k);
    if (way == Way::kSumsIn16Bits) part = rounded(job.output_type, part);
    if (way != Way::kSplit || k % 512 != 511) continue;
    total += part;
    part = 0.0f;
  }
  return total + part;
}

__device__ std::int64_t place_of(const Job& job, Way way, std::int64_t m, std::int64_t n) {
  if (way == Way::kTransposed) return n * job.tokens + m;
  if (way == Way::kSwappedColumns) n = n == 3 ? 5 : n == 5 ? 3 : n;
  return m * job.outputs + n;
}

// An output a thread.
__global__ void multiply(Job job, Way way, std::int64_t outputs) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= outputs) return;
  const std::int64_t m = i / job.outputs;
  const std::int64_t n = i % job.outputs;
  const float y = sum_of(job, way, m, n);
  const std::int64_t place = place_of(job, way, m, n);
  if (job.output_type == OutputType::kFloat16) {
    static_cast<__half*>(job.output)[place] = __float2half_rn(y);
  } else {
    static_cast<__nv_bfloat16*>(job.output)[place] = __float2bfloat16_rn(y);
  }
}

__global__ void lag() {
  const long long start = clock64();
  while (clock64() - start < kLag) {
  }
}

void launch(const Job& job, Way way, std::int64_t outputs, cudaStream_t stream) {
  const std::int64_t blocks = kernels::block_count(outputs, kThreads);
  multiply<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(job, way, outputs);
}

Variant control(const char* name, Way way) {
  Variant variant;
  variant.name = name;
  variant.launch = [way](const Job& job, const Launch& how) {
    launch(job, way, job.tokens * job.outputs, how.stream);
  };
  return variant;
}

Variant half_in_graphs() {
  Variant variant;
  variant.name = "half_in_graphs";
  variant.launch = [](const Job& job, const Launch& how) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(how.stream, &status);
    const bool is_captured = status == cudaStreamCaptureStatusActive;
    launch(job, Way::kRight, job.tokens * job.outputs / (is_captured ? 2 : 1), how.stream);
  };
  return variant;
}

}  // namespace

std::vector<Variant> product_controls() {
  return {control("right", Way::kRight),
          control("backwards", Way::kBackwards),
          control("split", Way::kSplit),
          control("rounded_weights", Way::kRoundedWeights),
          control("sums_in_16_bits", Way::kSumsIn16Bits),
          control("next_scale", Way::kNextScale),
          control("fp8_weights", Way::kFp8Weights),
          control("fp8_activations", Way::kFp8Activations),
          control("one_weight", Way::kOneWeight),
          control("without_last_block", Way::kWithoutLastBlock),
          control("swapped_columns", Way::kSwappedColumns),
          control("transposed", Way::kTransposed),
          control("without_nan", Way::kWithoutNan),
          half_in_graphs()};
}

Variant late_product() {
  Variant variant;
  variant.name = "late";
  variant.launch = [calls = 0](const Job& job, const Launch& how) mutable {
    static cudaStream_t elsewhere = nullptr;
    if (elsewhere == nullptr) cudaStreamCreateWithFlags(&elsewhere, cudaStreamNonBlocking);
    const bool is_late = calls++ > 0;
    if (is_late) lag<<<1, 1, 0, elsewhere>>>();
    launch(job, Way::kRight, job.tokens * job.outputs, is_late ? elsewhere : how.stream);
  };
  return variant;
}

}  // namespace nf4bench::test
