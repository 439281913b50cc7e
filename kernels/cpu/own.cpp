#include "own.hpp"

#include "cpu/dequantize/variants.hpp"
#include "cpu/experts/variants.hpp"
#include "cpu/matmul/variants.hpp"

#include <limits>

namespace nf4bench::kernels::cpu {
namespace {

const Variant& dequantize_variant() {
  static const Variant variant = simd();
  return variant;
}

const Variant& matmul_variant() {
  static const Variant variant = matmul_simd();
  return variant;
}

// Up to so many it was faster than OpenBLAS wherever they were measured together: docs/variants.md.
constexpr std::int64_t kMostTokens = 512;

OwnChoice choose_matmul(const Problem& problem, const DeviceFacts&) {
  return {&matmul_variant(), problem.tokens <= kMostTokens};
}

std::int64_t most_tokens(const Problem&, const DeviceFacts&) {
  return kMostTokens;
}

const Variant* choose_grouped(const Problem&, const DeviceFacts&) {
  static const Variant variant = experts_grouped();
  return &variant;
}

std::size_t most_workspace(const Problem& problem) {
  return static_cast<std::size_t>(workspace_of(matmul_variant(), problem, {}));
}

}  // namespace

const OwnKernels& own_kernels() {
  static constexpr OwnKernels kKernels = {dequantize_variant, choose_matmul, most_tokens,
                                          choose_grouped,     activate_rows, most_workspace};
  return kKernels;
}

}  // namespace nf4bench::kernels::cpu
