#include "own.hpp"

#include "cuda/dequantize/variants.hpp"
#include "cuda/matmul/choice.hpp"
#include "cuda/matmul/experts/activate.hpp"
#include "cuda/matmul/experts/variants.hpp"
#include "cuda/matmul/own_products.hpp"

#include <algorithm>
#include <string_view>

namespace nf4bench::kernels::cuda {
namespace {

const Variant& dequantize_variant() {
  static const Variant variant = fused();
  return variant;
}

OwnChoice choose_matmul(const Problem& problem, const DeviceFacts& device) {
  const ProductChoice choice = choose_product(problem, device);
  const Variant* const own = choice.own < 0 ? nullptr : &own_products()[std::size_t(choice.own)];
  return {own, choice.beats_blas(), choice.ns()};
}

// The first that can. With few slots of an expert grouped_ring, which has the same limits, is
// faster than grouped_wgmma where matrices lie transposed: by 6 to 15 % on an H200 (gpt-oss-20b).
const Variant* choose_grouped(const Problem& problem, const DeviceFacts& device) {
  const bool prefers_ring = problem.transposed && slots_of(problem) <= 4 * problem.group.experts;
  for (const Variant& variant : own_grouped_products()) {
    if (prefers_ring && variant.name == std::string_view("grouped_wgmma")) continue;
    if (why_unsupported(variant, problem, device) == nullptr) return &variant;
  }
  return nullptr;
}

std::size_t most_workspace(const Problem& problem) {
  std::int64_t most = 0;
  for (const Variant& product : own_products()) {
    most = std::max(most, workspace_of(product, problem, {}));
  }
  return static_cast<std::size_t>(most);
}

}  // namespace

const OwnKernels& own_kernels() {
  static constexpr OwnKernels kKernels = {dequantize_variant, choose_matmul,     most_own_tokens,
                                          choose_grouped,     launch_activation, most_workspace};
  return kKernels;
}

}  // namespace nf4bench::kernels::cuda
