#include "own.hpp"

#include "cuda/dequantize/variants.hpp"
#include "cuda/matmul/experts/variants.hpp"
#include "cuda/matmul/own_products.hpp"

#include <algorithm>

namespace nf4bench::kernels::cuda {
namespace {

const Variant& dequantize_variant() {
  static const Variant variant = fused();
  return variant;
}

bool can(const OwnProduct& product, const Problem& problem, const DeviceFacts& device) {
  return why_unsupported(product.variant, problem, device) == nullptr;
}

OwnChoice choose_matmul(const Problem& problem, const DeviceFacts& device) {
  OwnChoice slower;
  for (const OwnProduct& product : own_products()) {
    if (!can(product, problem, device)) continue;
    if (problem.tokens <= product.most_tokens(problem, device)) return {&product.variant, true};
    if (slower.variant == nullptr) slower.variant = &product.variant;
  }
  return slower;
}

std::int64_t most_tokens(const Problem& problem, const DeviceFacts& device) {
  std::int64_t most = 0;
  for (const OwnProduct& product : own_products()) {
    Problem with_tokens = problem;
    with_tokens.tokens = product.most_tokens(problem, device);
    if (with_tokens.tokens > most && can(product, with_tokens, device)) most = with_tokens.tokens;
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
  static constexpr OwnKernels kKernels = {dequantize_variant, choose_matmul, most_tokens,
                                          choose_grouped, most_workspace};
  return kKernels;
}

}  // namespace nf4bench::kernels::cuda
