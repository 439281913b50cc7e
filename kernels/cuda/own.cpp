#include "own.hpp"

#include "cuda/dequantize/variants.hpp"
#include "cuda/matmul/variants.hpp"

#include <algorithm>
#include <limits>
#include <span>

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
// integers of the activations first, which takes as long for few rows as for many; with one token
// they take shared memory that it needs otherwise.
bool is_for_wgmma(const Problem& problem) {
  if (problem.tokens == 1) return problem.inputs > 32768;
  if (problem.tokens > 4) return true;
  return problem.inputs > 4096 || (problem.inputs >= 3584 && problem.inputs >= 4 * problem.outputs);
}

// Up to how many tokens an own kernel beats one that decodes the weight into memory and leaves the
// rest to cuBLAS, by the size of the weight.
struct Crossover {
  std::int64_t elements;  // up to
  std::int64_t most_tokens;
  bool (*is_for)(const Problem& problem) = nullptr;  // else for all
};

// Whether rows end within a stage of 256 inputs.
bool ends_within_a_stage(const Problem& problem) {
  return problem.inputs % 256 != 0;
}

bool has_long_rows(const Problem& problem) {
  return problem.inputs > 4096;
}

constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::max();

// Of the warpgroup kernel.
constexpr Crossover kCrossovers[] = {
    {4 * kMi, 384, has_long_rows}, {9 * kMi, 384, ends_within_a_stage}, {kAnySize, 512}};

// Of the table, which decodes the weight again for each 64 tokens.
constexpr Crossover kTableCrossovers[] = {{8 * kMi - 1, 0}, {24 * kMi - 1, 16}, {kAnySize, 64}};

std::int64_t crossover(const Problem& problem, std::span<const Crossover> crossovers) {
  for (const Crossover& each : crossovers) {
    if (problem.elements > each.elements) continue;
    if (each.is_for == nullptr || each.is_for(problem)) return each.most_tokens;
  }
  return 0;
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
  const std::int64_t most = variant == &matmuls().table ? crossover(problem, kTableCrossovers)
                                                        : crossover(problem, kCrossovers);
  return {variant, problem.tokens <= most};
}

// Of the integer kernel, whatever the size.
constexpr std::int64_t kMostLinearTokens = 16;

std::int64_t most_tokens(const Problem& problem, const DeviceFacts& device) {
  Problem with_tokens = problem;
  for (const std::int64_t tokens :
       {crossover(problem, kCrossovers), crossover(problem, kTableCrossovers), kMostLinearTokens,
        std::int64_t{1}}) {
    with_tokens.tokens = tokens;
    if (tokens > 0 && choose_matmul(with_tokens, device).beats_blas) return tokens;
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
