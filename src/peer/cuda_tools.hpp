#pragma once

#include "bitsandbytes/bitsandbytes.hpp"

#include <array>
#include <optional>
#include <string>

struct CUstream_st;

namespace nf4bench::peer {

// A kernel of a cubin: null where it cannot be loaded, and why.
struct LoadedKernel {
  void* function = nullptr;
  std::string problem;
};

struct KernelLaunch {
  void* function = nullptr;  // of a LoadedKernel
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
  unsigned shared_bytes = 0;   // besides what the kernel has of its own
  void** arguments = nullptr;  // where each lies
};

// The few calls of CUDA that are needed to run other libraries' kernels. Tests replace them, and so
// test everything else without CUDA.
struct CudaTools {
  bitsandbytes::CudaCalls for_bitsandbytes;

  // Loads a kernel, which stays until the process ends, and launches one; says what was wrong, or
  // nothing.
  LoadedKernel (*load_kernel)(const std::string& cubin, const char* symbol) = nullptr;
  std::string (*launch_kernel)(const KernelLaunch& launch, CUstream_st* stream) = nullptr;
};

// The real ones; none in builds without CUDA (cuda_tools_absent.cpp).
std::optional<CudaTools> cuda_tools();

}  // namespace nf4bench::peer
