#pragma once

// What the C library offers: kernels of this program that need no other library. One table for each
// kind of device; `fused` makes the same choice from it.

#include "activation.hpp"
#include "variant.hpp"

#include <cstddef>
#include <cstdint>

namespace nf4bench::kernels {

// The fastest kernel of ours for a product.
struct OwnChoice {
  const Variant* variant = nullptr;  // null: none can compute it
  // Whether it is faster than to decode the weight into memory and multiply by a BLAS.
  bool beats_blas = false;
  // What the faster of both is expected to take; 0 where that is not known, as on the CPU.
  double expected_ns = 0.0;
};

// Plain data; what is called here neither allocates nor throws.
struct OwnKernels {
  const Variant& (*dequantize)() = nullptr;
  OwnChoice (*choose_matmul)(const Problem& problem, const DeviceFacts& device) = nullptr;
  // The most tokens for which choose_matmul() says beats_blas, 0: none; those of `problem` do not
  // matter.
  std::int64_t (*most_tokens)(const Problem& problem, const DeviceFacts& device) = nullptr;
  // The fastest for a product with a stack.
  const Variant* (*choose_grouped)(const Problem& problem, const DeviceFacts& device) = nullptr;
  void (*activate)(const Activation& of, const Launch& launch) = nullptr;
  // Bytes that are enough for whatever choose_matmul() chooses on any device.
  std::size_t (*most_workspace)(const Problem& problem) = nullptr;
};

namespace cpu {
const OwnKernels& own_kernels();
}
namespace cuda {
const OwnKernels& own_kernels();
}

}  // namespace nf4bench::kernels
