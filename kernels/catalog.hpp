#pragma once

// What this program has for an operation on a kind of device. Explicit lists: registration by
// static objects is dropped by linkers, and link order is no order.

#include "product_bound.hpp"
#include "variant.hpp"

#include <vector>

namespace nf4bench::kernels {

// What a judge on a CUDA device finds; no mismatch, first_mismatch all ones, to start with.
struct DeviceVerdict {
  unsigned long long mismatches = 0;
  unsigned long long first_mismatch = ~0ull;
  unsigned long long max_ulp = 0;       // of outputs that are defined bit for bit
  unsigned long long beyond_exact = 0;  // of inexact ones, those further off than exact weights are
  ProductErrors errors{};               // of these
};

// An output, and what the operation expects of it, in memory of a device; both 256-byte aligned.
struct OutputPair {
  const void* expected = nullptr;
  const void* actual = nullptr;
};

// Outputs of one kind.
struct OutputPairs {
  OutputType type = OutputType::kFloat16;
  std::int64_t values = 0;            // of each output
  const OutputPair* pairs = nullptr;  // `count` of them, in device memory
  int count = 0;
};

// Enqueues a comparison of all pairs that adds to verdicts[i] for pair i, in device memory.
using DeviceJudge = void (*)(const OutputPairs& outputs, DeviceVerdict* verdicts,
                             CUstream_st* stream);

// One operation on one kind of device. Plain data.
struct Catalog {
  std::vector<Variant> variants;       // simplest first
  std::vector<Variant> stream_shapes;  // kernels that move a problem's bytes and compute nothing:
                                       // the ceiling of what a variant can reach on it
  const char* flagship = "";           // the variant to use when nobody chooses
  const char* default_baseline = "";   // the variant that speedups refer to
  DeviceJudge judge = nullptr;         // null: outputs are judged on the host
};

namespace cpu {
const Catalog& dequantize();
const Catalog& matmul();
const Catalog& experts();   // products with stacks, of problems that have a group
const Catalog& backward();  // products with weights that lie transposed
}  // namespace cpu
namespace cuda {
// Empty in builds without CUDA.
const Catalog& dequantize();
const Catalog& matmul();
const Catalog& experts();
const Catalog& backward();
}  // namespace cuda

}  // namespace nf4bench::kernels
