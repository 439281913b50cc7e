// A block has a token.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/float16_tokens.hpp"

#include <cuda_fp16.h>

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::uint32_t kInfinity = 0x7f800000;

// The largest of all threads' values, to each of them.
__device__ unsigned largest_of_block(unsigned value) {
  __shared__ unsigned largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  for (int step = 16; step > 0; step /= 2) {
    value = max(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  if (threadIdx.x % 32 == 0) atomicMax(&largest, value);
  __syncthreads();
  return largest;
}

template <OutputType kType>
__device__ __forceinline__ float widened(std::uint16_t bits) {
  if constexpr (kType == OutputType::kFloat16) return __half2float(__ushort_as_half(bits));
  return __uint_as_float(std::uint32_t{bits} << 16);
}

// `target`: the exponent of the largest value, as float32 has it.
template <OutputType kType>
__global__ void __launch_bounds__(kThreads)
    float16_tokens(const std::uint16_t* from, std::uint16_t* to, float* factors,
                   std::int64_t inputs, const int* there, int target) {
  allow_next_kernel();
  wait_for_previous_kernel();
  const std::int64_t row = blockIdx.x;
  if (there != nullptr && row >= *there) return;
  from += row * inputs;
  to += row * inputs;
  unsigned largest = 0;  // of those that are finite; magnitudes are ordered as their bits are
  for (std::int64_t i = threadIdx.x; i < inputs; i += kThreads) {
    const unsigned magnitude = __float_as_uint(widened<kType>(from[i])) & 0x7fffffffu;
    if (magnitude < kInfinity) largest = max(largest, magnitude);
  }
  // Of 16 on the factor's inverse is finite.
  const int exponent = max(static_cast<int>(largest_of_block(largest) >> 23), 16);
  const float scale = __int_as_float((target - exponent + 127) << 23);
  for (std::int64_t i = threadIdx.x; i < inputs; i += kThreads) {
    to[i] = __half_as_ushort(__float2half_rn(widened<kType>(from[i]) * scale));
  }
  if (threadIdx.x == 0) factors[row] = __int_as_float((exponent - target + 127) << 23);
}

}  // namespace

void launch_float16_tokens(const Launch& launch, OutputType type, TokenRange range,
                           const void* from, void* to, float* factors, std::int64_t rows,
                           std::int64_t inputs, const int* there) {
  const auto kernel = type == OutputType::kFloat16 ? float16_tokens<OutputType::kFloat16>
                                                   : float16_tokens<OutputType::kBfloat16>;
  launch_dependent(launch, static_cast<unsigned>(rows), kThreads, kernel,
                   static_cast<const std::uint16_t*>(from), static_cast<std::uint16_t*>(to),
                   factors, inputs, there, range == TokenRange::kFloat16 ? 127 + 14 : 127 + 8);
}

}  // namespace nf4bench::kernels::cuda
