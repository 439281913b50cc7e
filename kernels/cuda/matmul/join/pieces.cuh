#pragma once

// Accumulators in pieces of 16 bytes, in which blocks that share a tile hand them over.

#include "cuda/ptx.cuh"

namespace nf4bench::kernels::cuda {

// The i-th 16 bytes of a lane's sums.
template <int kCount>
__device__ __forceinline__ float4 piece_of(const float (&sums)[kCount], int i) {
  return make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]);
}

__device__ __forceinline__ float4 load_shared_piece(std::uint32_t address) {
  const uint4 bits = load_shared_16(address);
  return make_float4(__uint_as_float(bits.x), __uint_as_float(bits.y), __uint_as_float(bits.z),
                     __uint_as_float(bits.w));
}

__device__ __forceinline__ float4 add(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

}  // namespace nf4bench::kernels::cuda
