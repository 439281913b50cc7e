#pragma once

#include <cstdint>
#include <optional>

struct CUstream_st;

namespace nf4bench::peer {

// What driving somebody else's kernels takes of CUDA, so that the driving itself can be tested
// without.
struct CudaTools {
  // Enqueues scales[b] += offset.
  void (*add_offset)(float* scales, std::int64_t count, float offset,
                     CUstream_st* stream) = nullptr;

  // Order between a stream and the default stream, for libraries that launch on the latter.
  void (*default_stream_waits_for)(CUstream_st* stream) = nullptr;
  void (*wait_for_default_stream)(CUstream_st* stream) = nullptr;
};

// In cuda_tools.cpp, or cuda_tools_absent.cpp for builds without CUDA, where there are none.
std::optional<CudaTools> cuda_tools();

}  // namespace nf4bench::peer
