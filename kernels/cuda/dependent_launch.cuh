#pragma once

// Programmatic dependent launch (Hopper and later): the blocks of a kernel may be scheduled while
// the kernel before it in the stream drains. Everything that touches memory waits until that one
// has finished, so that the result is that of an ordinary launch.

#include "variant.hpp"

#include <cuda_runtime.h>

#include <initializer_list>

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

// Whether the code that a device runs waits for its predecessor, of what was `compiled`, in the
// numbers of __CUDA_ARCH__. PTX of an older architecture that the driver compiles does not.
constexpr bool waits_for_previous(std::initializer_list<int> compiled, int compute_capability) {
  for (const int architecture : compiled) {
    if (architecture >= 900 && architecture <= compute_capability * 10) return true;
  }
  return false;
}

// Launches `kernel` as a dependent of its predecessor where its code waits for that, else plainly.
// Static, for files differ in what they are compiled for.
template <class... Arguments>
static void launch_dependent(const Launch& launch, unsigned grid, unsigned threads,
                             void (*kernel)(Arguments...), Arguments... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = threads;
  config.stream = launch.stream;
  config.attrs = &attribute;
  config.numAttrs =
      waits_for_previous({__CUDA_ARCH_LIST__}, launch.device.compute_capability) ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace nf4bench::kernels::cuda
