#pragma once

#include "variant.hpp"

#include <array>
#include <cstdint>
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
  // Enqueues scales[b] += *offset, which is in the device's memory.
  void (*add_offset)(float* scales, std::int64_t count, const float* offset,
                     CUstream_st* stream) = nullptr;

  // Order between a stream and the default stream, for libraries that launch on the latter.
  void (*default_stream_waits_for)(CUstream_st* stream) = nullptr;
  void (*wait_for_default_stream)(CUstream_st* stream) = nullptr;

  // The codebook in the memory of the current device.
  const float* (*codebook)() = nullptr;

  // A product by `decode`, which writes the decoded weight into memory, and cuBLAS.
  kernels::Variant (*decode_then_cublas)(const kernels::Variant& decode) = nullptr;

  // Loads a kernel, which stays until the process ends, and launches one; says what was wrong, or
  // nothing.
  LoadedKernel (*load_kernel)(const std::string& cubin, const char* symbol) = nullptr;
  std::string (*launch_kernel)(const KernelLaunch& launch, CUstream_st* stream) = nullptr;
};

// The real ones; none in builds without CUDA (cuda_tools_absent.cpp).
std::optional<CudaTools> cuda_tools();

}  // namespace nf4bench::peer
