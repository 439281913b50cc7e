#include "own.hpp"

#include "cuda/dequantize/variants.hpp"
#include "cuda/matmul/variants.hpp"

#include <algorithm>
#include <array>

namespace nf4bench::kernels::cuda {
namespace {

struct Matmuls {
  Variant linear = matmul_mma_linear();
  Variant wgmma = matmul_wgmma_decode();
  Variant gemv = matmul_gemv_shuffle();
  Variant table = matmul_mma_table();
};

const Matmuls& matmuls() {
  static const Matmuls all;
  return all;
}

const Variant& dequantize_variant() {
  static const Variant variant = fused();
  return variant;
}

bool can(const Variant& variant, const Problem& problem, const DeviceFacts& device) {
  return why_unsupported(variant, problem, device) == nullptr;
}

constexpr std::int64_t kMi = std::int64_t{1} << 20;

// Whether the warpgroup kernel beats the integer kernel, measured on an H200. That has to make
// integers of long activations first, by a kernel of its own or, with one token, in shared memory
// that it needs otherwise.
bool is_for_wgmma(const Problem& problem) {
  if (problem.tokens == 1) return problem.inputs > 32768;
  const bool is_wide = problem.inputs >= 3584 && 2 * problem.inputs >= 5 * problem.outputs;
  return problem.tokens > 4 || is_wide;
}

// The table decodes the weight again for each 64 tokens.
constexpr std::int64_t kMostTableTokens = 64;

// Up to how many tokens an own kernel beats one that decodes the weight into memory and leaves the
// rest to cuBLAS, by the size of the weight.
struct Crossover {
  std::int64_t elements;  // up to
  std::int64_t most_tokens;
};

constexpr Crossover kCrossovers[] = {{8 * kMi, 256}, {32 * kMi, 384}};
constexpr std::int64_t kMostTokens = 512;

std::int64_t crossover(const Problem& problem) {
  for (const Crossover& each : kCrossovers) {
    if (problem.elements <= each.elements) return each.most_tokens;
  }
  return kMostTokens;
}

const Variant* fastest(const Problem& problem, const DeviceFacts& device) {
  const Matmuls& all = matmuls();
  if (is_for_wgmma(problem) && can(all.wgmma, problem, device)) return &all.wgmma;
  for (const Variant* variant : {&all.linear, &all.wgmma, &all.gemv, &all.table}) {
    if (can(*variant, problem, device)) return variant;
  }
  return nullptr;
}

OwnChoice choose_matmul(const Problem& problem, const DeviceFacts& device) {
  const Variant* const variant = fastest(problem, device);
  if (variant == nullptr) return {};
  const std::int64_t most = variant == &matmuls().table ? kMostTableTokens : crossover(problem);
  return {variant, problem.tokens <= most};
}

std::int64_t most_tokens(const Problem& problem, const DeviceFacts& device) {
  Problem with_tokens = problem;
  for (const std::int64_t tokens : {crossover(problem), kMostTableTokens, std::int64_t{1}}) {
    with_tokens.tokens = tokens;
    if (choose_matmul(with_tokens, device).beats_blas) return tokens;
  }
  return 0;
}

std::size_t most_workspace(const Problem& problem) {
  const Matmuls& all = matmuls();
  std::int64_t most = 0;
  for (const Variant* variant : {&all.linear, &all.wgmma, &all.gemv, &all.table}) {
    most = std::max(most, workspace_of(*variant, problem, {}));
  }
  return static_cast<std::size_t>(most);
}

}  // namespace

const OwnKernels& own_kernels() {
  static constexpr OwnKernels kKernels = {dequantize_variant, choose_matmul, most_tokens,
                                          most_workspace};
  return kKernels;
}

}  // namespace nf4bench::kernels::cuda
