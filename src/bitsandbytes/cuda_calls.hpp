#pragma once

#include "variant.hpp"

#include <cstdint>

struct CUstream_st;

namespace nf4bench::bitsandbytes {

// The few calls of CUDA that its launches need around them. Tests replace them, and so test
// everything else without CUDA.
struct CudaCalls {
  // Enqueues scales[b] += *offset, which is in the device's memory.
  void (*add_offset)(float* scales, std::int64_t count, const float* offset,
                     CUstream_st* stream) = nullptr;

  // Order between a stream and the default stream, for builds that launch on the latter.
  void (*default_stream_waits_for)(CUstream_st* stream) = nullptr;
  void (*wait_for_default_stream)(CUstream_st* stream) = nullptr;

  // The codebook in the memory of the current device.
  const float* (*codebook)() = nullptr;

  // A product by `decode`, which writes the decoded weight into memory, and cuBLAS.
  kernels::Variant (*decode_then_cublas)(const kernels::Variant& decode) = nullptr;
};

}  // namespace nf4bench::bitsandbytes
