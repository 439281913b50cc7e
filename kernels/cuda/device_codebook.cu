#include "cuda/codebook.cuh"
#include "cuda/device_codebook.hpp"

namespace nf4bench::kernels::cuda {

const float* device_codebook() {
  void* address = nullptr;
  if (cudaGetSymbolAddress(&address, kCodebook) != cudaSuccess) return nullptr;
  return static_cast<const float*>(address);
}

}  // namespace nf4bench::kernels::cuda
