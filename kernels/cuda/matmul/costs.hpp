#pragma once

// What products and dequantization take on a device, in nanoseconds, from what is known of it:
// bytes over the memory's rate, instructions over the clock, and fixed costs. Plain host code.
//
// Constants were fitted to medians of an NVIDIA H200, cold, from graphs. docs/kernels.md says how
// far off they are, there and elsewhere.

#include "problem.hpp"

namespace nf4bench::kernels::cuda {

double mma_linear_ns(const Problem& problem, const DeviceFacts& device);
double wgmma_decode_ns(const Problem& problem, const DeviceFacts& device);
double mma_ring_ns(const Problem& problem, const DeviceFacts& device);
double gemv_shuffle_ns(const Problem& problem, const DeviceFacts& device);
double mma_table_ns(const Problem& problem, const DeviceFacts& device);

// Of decoding the weight into memory and multiplying by a BLAS.
double decode_blas_ns(const Problem& problem, const DeviceFacts& device);

// Of a BLAS on a weight that stays in 16 bits.
double resident_blas_ns(const Problem& problem, const DeviceFacts& device);

// Of `fused`, which decodes the weight into memory.
double dequantize_ns(const Problem& problem, const DeviceFacts& device);

// The least that the data sheet allows: what has to be moved at the memory's peak, and products at
// the peak of the tensor cores. Without tokens that of dequantization.
struct Roof {
  double memory_ns = 0.0;
  double tensor_ns = 0.0;
};
Roof roof_of(const Problem& problem, const DeviceFacts& device);

}  // namespace nf4bench::kernels::cuda
