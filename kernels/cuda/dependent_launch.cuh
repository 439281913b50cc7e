#pragma once

// Programmatic dependent launch (Hopper and later): the blocks of a kernel may be scheduled while
// the kernel before it in the stream drains. Everything that touches memory waits until that one
// has finished, so that the result is that of an ordinary launch.

#include "variant.hpp"

#include <cuda_runtime.h>

namespace nf4bench::kernels::cuda {

// Blocks until the kernel before this one has finished and its writes are visible.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel's blocks be scheduled once all blocks of this one have said so.
__device__ __forceinline__ void allow_next_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Launches `kernel` as a dependent of its predecessor where the device can, else plainly.
template <class... Arguments>
void launch_dependent(const Launch& launch, unsigned grid, unsigned threads,
                      void (*kernel)(Arguments...), Arguments... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = threads;
  config.stream = launch.stream;
  config.attrs = &attribute;
  config.numAttrs = launch.device.compute_capability >= 90 ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace nf4bench::kernels::cuda
