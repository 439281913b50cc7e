#pragma once

// What the kernels of own_products.hpp cannot do: a reason, or null where they can. Plain host
// code.

#include "problem.hpp"

namespace nf4bench::kernels::cuda {

inline constexpr const char* kNeedsRows = "needs a weight that does not lie transposed";
inline constexpr const char* kNeedsWholeBlocks =
    "needs a multiple of 64 outputs where the weight lies transposed";
inline constexpr const char* kNeedsFloat16 =
    "needs tensor cores of bfloat16 where the weight lies transposed";

const char* mma_linear_unsupported(const Problem& problem, const DeviceFacts& device);
const char* wgmma_decode_unsupported(const Problem& problem, const DeviceFacts& device);
const char* mma_ring_unsupported(const Problem& problem, const DeviceFacts& device);
const char* gemv_shuffle_unsupported(const Problem& problem, const DeviceFacts& device);
const char* mma_table_unsupported(const Problem& problem, const DeviceFacts&);

}  // namespace nf4bench::kernels::cuda
