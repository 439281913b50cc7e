// Fused, on all cores, with the widest vectors of the machine: see simd_product.cpp and, for
// weights that lie transposed, simd_transposed.cpp.

#include "cpu/matmul/simd_product.hpp"
#include "cpu/matmul/variants.hpp"

namespace nf4bench::kernels::cpu {
namespace {

// Rows that a thread takes at a time: enough to pay for reading all tokens.
constexpr std::int64_t kRowsOfPart = 32;

// Outputs that it takes at a time of a transposed weight: fewer, but whole blocks, where there
// would be none for some threads.
std::int64_t outputs_of_part(const Job& job, int threads) {
  constexpr std::int64_t kFewest = 64;
  std::int64_t outputs = 2 * kPanelHalf;
  while (outputs > kFewest && block_count(job.outputs, outputs) < 2 * threads) outputs /= 2;
  return outputs;
}

void matmul(const Job& job, const Launch& launch) {
  auto* const x = static_cast<float*>(job.workspace);
  for_each_part(launch, {job.tokens, job.inputs},
                [&](Range range) { split_tokens(job, range, x); });
  const int threads = launch.device.multiprocessors;
  const std::int64_t step = job.transposed ? outputs_of_part(job, threads) : kRowsOfPart;
  const auto multiply = [&](std::int64_t part) {
    const Range outputs = {part * step, std::min((part + 1) * step, job.outputs)};
    job.transposed ? multiply_panel(job, x, outputs) : multiply_rows(job, x, outputs);
  };
  run_parts(threads, block_count(job.outputs, step), std::ref(multiply));
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
