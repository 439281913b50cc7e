// Fused, on all cores, with the widest vectors of the machine: see simd_product.cpp.

#include "cpu/matmul/simd_product.hpp"
#include "cpu/matmul/variants.hpp"

namespace nf4bench::kernels::cpu {
namespace {

// Rows that a thread takes at a time: enough to pay for reading all tokens.
constexpr std::int64_t kRowsOfPart = 32;

void matmul(const Job& job, const Launch& launch) {
  auto* const x = static_cast<float*>(job.workspace);
  for_each_part(launch, {job.tokens, job.inputs},
                [&](Range range) { split_tokens(job, range, x); });
  const auto multiply = [&](std::int64_t part) {
    const std::int64_t first = part * kRowsOfPart;
    multiply_rows(job, x, {first, std::min(first + kRowsOfPart, job.outputs)});
  };
  run_parts(launch.device.multiprocessors, block_count(job.outputs, kRowsOfPart),
            std::ref(multiply));
}

}  // namespace

Variant matmul_simd() {
  Variant variant;
  variant.name = "simd";
  variant.summary = "fused, vectors on all cores; a block's 16 weights in a register, float32 sums";
  variant.traits.launches = 2;
  variant.traits.mirrors = "kernels that look weights up in a vector register";
  variant.workspace_bytes = split_tokens_bytes;
  variant.launch = matmul;
  return variant;
}

}  // namespace nf4bench::kernels::cpu
