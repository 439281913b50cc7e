#include "own.hpp"

#include "cuda/dequantize/variants.hpp"
#include "cuda/matmul/costs.hpp"
#include "cuda/matmul/experts/activate.hpp"
#include "cuda/matmul/experts/variants.hpp"
#include "cuda/matmul/own_products.hpp"

#include <algorithm>
#include <limits>

namespace nf4bench::kernels::cuda {
namespace {

const Variant& dequantize_variant() {
  static const Variant variant = fused();
  return variant;
}

constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;  // that are asked for

bool can(const OwnProduct& product, const Problem& problem, const DeviceFacts& device) {
  return why_unsupported(product.variant, problem, device) == nullptr;
}

OwnChoice choose_matmul(const Problem& problem, const DeviceFacts& device) {
  OwnChoice choice;
  double least_ns = std::numeric_limits<double>::infinity();
  for (const OwnProduct& product : own_products()) {
    if (!can(product, problem, device)) continue;
    const double ns = product.cost_ns(problem, device);
    if (ns >= least_ns) continue;
    least_ns = ns;
    choice.variant = &product.variant;
  }
  const double blas_ns = decode_blas_ns(problem, device);
  choice.beats_blas = least_ns <= blas_ns;
  choice.expected_ns = std::min(least_ns, blas_ns);
  return choice;
}

// Where kernels change, a few tokens may be left to a BLAS and more of them not.
std::int64_t most_tokens(const Problem& problem, const DeviceFacts& device) {
  const auto beats_blas = [&](std::int64_t tokens) {
    Problem with_tokens = problem;
    with_tokens.tokens = tokens;
    return choose_matmul(with_tokens, device).beats_blas;
  };
  std::int64_t most = 0;
  for (std::int64_t tokens = 1; tokens <= kMostTokens; tokens *= 2) {
    if (beats_blas(tokens)) most = tokens;
  }
  std::int64_t step = most / 2;
  for (; most > 0 && most < kMostTokens && step > 0; step /= 2) {
    if (beats_blas(most + step)) most += step;
  }
  return most;
}

const Variant* choose_grouped(const Problem& problem, const DeviceFacts& device) {
  for (const Variant& variant : own_grouped_products()) {
    if (why_unsupported(variant, problem, device) == nullptr) return &variant;
  }
  return nullptr;
}

std::size_t most_workspace(const Problem& problem) {
  std::int64_t most = 0;
  for (const OwnProduct& product : own_products()) {
    most = std::max(most, workspace_of(product.variant, problem, {}));
  }
  return static_cast<std::size_t>(most);
}

}  // namespace

const OwnKernels& own_kernels() {
  static constexpr OwnKernels kKernels = {dequantize_variant, choose_matmul,     most_tokens,
                                          choose_grouped,     launch_activation, most_workspace};
  return kKernels;
}

}  // namespace nf4bench::kernels::cuda
