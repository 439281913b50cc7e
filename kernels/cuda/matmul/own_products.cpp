#include "cuda/matmul/own_products.hpp"

#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20;

// On Hopper the warpgroup kernel is faster from 5 tokens on, and sooner where rows are long,
// measured on an H200. The integer kernel makes integers of the activations first, which takes as
// long for few rows as for many; with one token they take shared memory that it needs otherwise.
// Elsewhere the ring is faster from two tokens on.
std::int64_t most_linear_tokens(const Problem& problem, const DeviceFacts& device) {
  if (device.compute_capability != 90) return 1;
  if (problem.inputs > 32768) return 0;
  const bool has_long_rows =
      problem.inputs > 4096 || (problem.inputs >= 3584 && problem.inputs >= 4 * problem.outputs);
  return has_long_rows ? 1 : 4;
}

std::int64_t most_wgmma_tokens(const Problem& problem, const DeviceFacts&) {
  if (problem.elements <= 4 * kMi && problem.inputs > 4096) return 384;
  const bool ends_within_a_stage = problem.inputs % 256 != 0;
  if (problem.elements <= 9 * kMi && ends_within_a_stage) return 384;
  return 512;
}

// Measured on an H200 with code of compute capability 8.0. A second tile of 128 tokens would take
// longer than a BLAS on the decoded weight.
std::int64_t most_ring_tokens(const Problem&, const DeviceFacts&) {
  return 128;
}

std::int64_t most_gemv_tokens(const Problem&, const DeviceFacts&) {
  return 1;
}

// It decodes the weight again for each 64 tokens.
std::int64_t most_table_tokens(const Problem& problem, const DeviceFacts&) {
  if (problem.elements < 8 * kMi) return 0;
  return problem.elements < 24 * kMi ? 16 : 64;
}

}  // namespace

std::span<const OwnProduct> own_products() {
  static const OwnProduct products[] = {
      {matmul_mma_linear(), most_linear_tokens}, {matmul_wgmma_decode(), most_wgmma_tokens},
      {matmul_mma_ring(), most_ring_tokens},     {matmul_gemv_shuffle(), most_gemv_tokens},
      {matmul_mma_table(), most_table_tokens},
  };
  return products;
}

}  // namespace nf4bench::kernels::cuda
