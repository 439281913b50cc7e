#pragma once

// The middle launch of the chain with which nested tensors are decoded today; the chain of a
// library that does the other two needs it as well.

#include <cstdint>

struct CUstream_st;

namespace nf4bench::kernels::cuda {

// Enqueues scales[b] += *offset for `count` scales, 16-byte aligned: what the element-wise kernel
// of a tensor library costs.
void launch_add_offset(float* scales, std::int64_t count, const float* offset, CUstream_st* stream);

}  // namespace nf4bench::kernels::cuda
