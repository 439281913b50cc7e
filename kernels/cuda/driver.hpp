#pragma once

#include <cuda_runtime_api.h>

namespace nf4bench::kernels::cuda {

// The function `name` of the driver, found at run time, so that nothing links against it; null
// where there is no driver or it has none.
template <typename Function>
Function* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result);
  return reinterpret_cast<Function*>(function);
}

}  // namespace nf4bench::kernels::cuda
