// Fused, on all cores, with the widest vectors of the machine: see simd_product.cpp.

#include "cpu/matmul/simd_product.hpp"
#include "cpu/matmul/variants.hpp"

namespace nf4bench::kernels::cpu {
namespace {

std::int64_t split_floats(const Problem& problem) {
  return problem.tokens * split_stride(problem.inputs);
}

void matmul(const Job& job, const Launch&) {
  auto* const even = static_cast<float*>(job.workspace);
  float* const odd = even + split_floats(job);
  for_each_part(job.tokens, job.inputs, [&](Range range) { split_tokens(job, range, even, odd); });
  const SplitTokens x = {.even = even, .odd = odd, .stride = split_stride(job.inputs)};
  for_each_part(job.outputs, job.inputs, [&](Range rows) { multiply_rows(job, x, rows); });
}

}  // namespace

Variant matmul_simd() {
  Variant variant;
  variant.name = "simd";
  variant.summary = "fused, vectors on all cores; a block's 16 weights in a register, float32 sums";
  variant.traits.launches = 2;
  variant.traits.mirrors = "kernels that look weights up in a vector register";
  variant.workspace_bytes = [](const Problem& problem) {
    return static_cast<std::size_t>(2 * split_floats(problem)) * sizeof(float);
  };
  variant.launch = matmul;
  return variant;
}

}  // namespace nf4bench::kernels::cpu
