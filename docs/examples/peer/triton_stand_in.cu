// Stands in for the launcher and the cubin that Triton generates; see nf4_nested.h.

#include "nf4_nested.h"

#include <cuda_fp16.h>

namespace {

__constant__ float codebook[16] = {
    -1.0f,
    -0.6961928009986877f,
    -0.5250730514526367f,
    -0.39491748809814453f,
    -0.28444138169288635f,
    -0.18477343022823334f,
    -0.09105003625154495f,
    0.0f,
    0.07958029955625534f,
    0.16093020141124725f,
    0.24611230194568634f,
    0.33791524171829224f,
    0.44070982933044434f,
    0.5626170039176941f,
    0.7229568362236023f,
    1.0f,
};

__device__ float multiply(float a, float b) {
  float product;
  asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
  return product;
}

__global__ void decode(const uint8_t* packed, const uint8_t* codes, const float* nested_absmax,
                       const float* map, __half* output, float offset, int64_t elements,
                       int block_shift) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  const int64_t block = i >> block_shift;
  const float scale = __fadd_rn(multiply(map[codes[block]], nested_absmax[block / 256]), offset);
  const unsigned nibble = i % 2 == 0 ? packed[i / 2] >> 4 : packed[i / 2] & 15;
  output[i] = __float2half_rn(multiply(codebook[nibble], scale));
}

}  // namespace

CUresult nf4_nested_default(CUstream stream, CUdeviceptr packed, CUdeviceptr codes,
                            CUdeviceptr nested_absmax, CUdeviceptr map, CUdeviceptr output,
                            float offset, int64_t elements, int32_t block_shift) {
  decode<<<static_cast<unsigned>((elements + 255) / 256), 256, 0, stream>>>(
      reinterpret_cast<const uint8_t*>(packed), reinterpret_cast<const uint8_t*>(codes),
      reinterpret_cast<const float*>(nested_absmax), reinterpret_cast<const float*>(map),
      reinterpret_cast<__half*>(output), offset, elements, block_shift);
  return cudaGetLastError() == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}
