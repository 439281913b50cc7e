#pragma once

// What a variant is asked to compute, as far as that is known without memory: sizes and types.
// C++17 and std only.

#include "nf4/format.hpp"

#include <cstdint>

namespace nf4bench::kernels {

// The words of the format that kernels are made of.
using nf4::block_count;
using nf4::codebook_value;
using nf4::kCodes;
using nf4::kMinBlocksize;
using nf4::kNestedBlocksize;
using nf4::OutputType;
using nf4::packed_bytes;
using nf4::size_in_bytes;

// An NF4 weight, and what is wanted of it. Has no pointers: whether a variant can do it, the
// workspace, the traffic and the memory of a run follow from it before anything is allocated.
struct Problem {
  std::int64_t elements = 0;  // of the weight; may exceed 2^31
  std::int64_t blocks = 0;    // block_count(elements, 1 << block_shift)
  int block_shift = 6;        // log2 of the blocksize: 5 to 12
  bool nested = false;        // scales are codes with a nested absmax, a map and an offset
  // The weight as a matrix W[outputs, inputs], and the rows of x in y = x W^T.
  std::int64_t outputs = 0;  // N
  std::int64_t inputs = 0;   // K; elements == outputs * inputs
  std::int64_t tokens = 0;   // M; 0 for operations that have none
  OutputType output_type = OutputType::kFloat16;
};

// What a variant may decide on about the device it runs on.
struct DeviceFacts {
  int compute_capability = 0;  // 10 * major + minor: 75, 80, 90, ...; 0 on the CPU
  int multiprocessors = 0;     // CUDA: SMs; CPU: threads to use; 0: the caller's
  std::int64_t l2_bytes = 0;   // last-level cache
};

}  // namespace nf4bench::kernels
