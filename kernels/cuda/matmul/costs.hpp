#pragma once

// What products take on a device, in nanoseconds, from what is known of it: bytes over the memory's
// rate, instructions over the clock, and fixed costs. Plain host code.
//
// Constants were fitted to medians of an NVIDIA H200, cold, from graphs. On other cards they say
// which kernel to take, not how long it takes.

#include "problem.hpp"

namespace nf4bench::kernels::cuda {

double mma_linear_ns(const Problem& problem, const DeviceFacts& device);
double wgmma_decode_ns(const Problem& problem, const DeviceFacts& device);
double mma_ring_ns(const Problem& problem, const DeviceFacts& device);
double gemv_shuffle_ns(const Problem& problem, const DeviceFacts& device);
double mma_table_ns(const Problem& problem, const DeviceFacts& device);

// Of decoding the weight into memory and multiplying by a BLAS.
double decode_blas_ns(const Problem& problem, const DeviceFacts& device);

}  // namespace nf4bench::kernels::cuda
