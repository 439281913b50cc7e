#pragma once

// Launching kernels that fill a multiprocessor: dynamic shared memory, and dependent launch.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/grid.hpp"
#include "cuda/shared_bytes.hpp"
#include "variant.hpp"

#include <cuda_runtime.h>

namespace nf4bench::kernels::cuda {

// As launch_dependent().
template <class... Arguments>
static void launch_grid(const Launch& launch, const Grid& grid, void (*kernel)(Arguments...),
                        Arguments... arguments) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(grid.shared_bytes));
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {grid.cluster, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = grid.blocks;
  config.blockDim = grid.threads;
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = launch.stream;
  config.attrs = attributes;
  if (waits_for_previous({__CUDA_ARCH_LIST__}, launch.device.compute_capability)) {
    config.numAttrs = grid.cluster > 1 ? 2 : 1;
  }
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace nf4bench::kernels::cuda
