#include "cuda/matmul/choice.hpp"

#include "cuda/matmul/costs.hpp"
#include "cuda/matmul/limits.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr ProductModel kModels[] = {
    {"mma_linear", mma_linear_unsupported, mma_linear_ns},
    {"wgmma_decode", wgmma_decode_unsupported, wgmma_decode_ns},
    {"mma_ring", mma_ring_unsupported, mma_ring_ns},
    {"gemv_shuffle", gemv_shuffle_unsupported, gemv_shuffle_ns},
    {"mma_table", mma_table_unsupported, mma_table_ns},
};

// Of a BLAS, that is needed to prefer it.
double lead_over(const Problem& problem, const DeviceFacts& device) {
  const std::int64_t decoded = problem.elements * 2;
  // It fills memory, and may take a third longer than its cost where its tiles fit badly.
  if (decoded > device.l2_bytes) return 1.058;
  // It takes four fifths of its cost where a small weight that lies transposed stays in the cache.
  if (problem.transposed && decoded <= device.l2_bytes / 4) return 0.8;
  return 1.0;
}

constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;  // that are asked for

}  // namespace

std::span<const ProductModel> product_models() {
  return kModels;
}

ProductChoice choose_product(const Problem& problem, const DeviceFacts& device) {
  ProductChoice choice;
  choice.blas_ns = decode_blas_ns(problem, device);
  choice.lead = lead_over(problem, device);
  int place = 0;
  for (const ProductModel& model : kModels) {
    const int own = place++;
    if (model.unsupported(problem, device) != nullptr) continue;
    const double ns = model.cost_ns(problem, device);
    if (ns >= choice.own_ns) continue;
    choice.own = own;
    choice.own_ns = ns;
  }
  return choice;
}

// Where kernels change, a few tokens may be left to a BLAS and more of them not.
std::int64_t most_own_tokens(const Problem& problem, const DeviceFacts& device) {
  const auto beats_blas = [&](std::int64_t tokens) {
    Problem with_tokens = problem;
    with_tokens.tokens = tokens;
    return choose_product(with_tokens, device).beats_blas();
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

}  // namespace nf4bench::kernels::cuda
