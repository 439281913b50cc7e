#include "cuda/dequantize/add_offset.hpp"
#include "cuda/dispatch.cuh"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// scales[b] += offset, four a thread.
__global__ void __launch_bounds__(kThreads)
    add_offset(float* scales, std::int64_t count, const float* offset_at) {
  const float offset = __ldg(offset_at);
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * 4;
  if (first + 4 <= count) {
    float4 four = *reinterpret_cast<float4*>(scales + first);
    four.x = __fadd_rn(four.x, offset);
    four.y = __fadd_rn(four.y, offset);
    four.z = __fadd_rn(four.z, offset);
    four.w = __fadd_rn(four.w, offset);
    *reinterpret_cast<float4*>(scales + first) = four;
  } else {
    for (std::int64_t i = first; i < count; ++i) scales[i] = __fadd_rn(scales[i], offset);
  }
}

}  // namespace

void launch_add_offset(float* scales, std::int64_t count, const float* offset,
                       CUstream_st* stream) {
  add_offset<<<grid_size(count, kThreads * 4), kThreads, 0, stream>>>(scales, count, offset);
}

}  // namespace nf4bench::kernels::cuda
