// A block has a token.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/float16_tokens.hpp"

#include <cuda_fp16.h>

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::uint32_t kInfinity = 0x7f80;

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

__global__ void __launch_bounds__(kThreads)
    float16_tokens(const std::uint16_t* from, std::uint16_t* to, float* factors,
                   std::int64_t inputs, const int* there) {
  allow_next_kernel();
  wait_for_previous_kernel();
  const std::int64_t row = blockIdx.x;
  if (there != nullptr && row >= *there) return;
  from += row * inputs;
  to += row * inputs;
  unsigned largest = 0;  // of those that are finite; magnitudes are ordered as their bits are
  for (std::int64_t i = threadIdx.x; i < inputs; i += kThreads) {
    const unsigned magnitude = from[i] & 0x7fffu;
    if (magnitude < kInfinity) largest = max(largest, magnitude);
  }
  // 2^14 is the exponent 141; of 16 on the factor's inverse is finite.
  const int exponent = max(static_cast<int>(largest_of_block(largest) >> 7), 16);
  const float scale = __int_as_float((141 - exponent + 127) << 23);
  for (std::int64_t i = threadIdx.x; i < inputs; i += kThreads) {
    const float value = __uint_as_float(std::uint32_t{from[i]} << 16);
    to[i] = __half_as_ushort(__float2half_rn(value * scale));
  }
  if (threadIdx.x == 0) factors[row] = __int_as_float((exponent - 141 + 127) << 23);
}

}  // namespace

void launch_float16_tokens(const Launch& launch, const void* from, void* to, float* factors,
                           std::int64_t rows, std::int64_t inputs, const int* there) {
  launch_dependent(launch, static_cast<unsigned>(rows), kThreads, float16_tokens,
                   static_cast<const std::uint16_t*>(from), static_cast<std::uint16_t*>(to),
                   factors, inputs, there);
}

}  // namespace nf4bench::kernels::cuda
