#include "gpu/poison_shared.hpp"

#include <cuda_runtime.h>

namespace nf4bench {
namespace {

__global__ void fill_shared(std::uint32_t word, int words) {
  extern __shared__ volatile std::uint32_t shared[];
  for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x)) {
    shared[i] = word;
  }
}

}  // namespace

void poison_shared_memory(std::uint32_t word, CUstream_st* stream) {
  int device = 0;
  int bytes = 0;
  int multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  cudaFuncSetAttribute(fill_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  fill_shared<<<multiprocessors, 512, bytes, stream>>>(word, bytes / 4);
}

}  // namespace nf4bench
