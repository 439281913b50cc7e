// The flagship: the kernel that is the fastest for the sizes and the device. Launch::config forces
// one by name, where it can do the problem.

#include "cuda/matmul/variants.hpp"

#include <array>
#include <cstring>

namespace nf4bench::kernels::cuda {
namespace {

constexpr const char* kConfigNames[] = {"mma_linear", "wgmma_decode", "gemv_shuffle",
                                        "mma_table",  "fused_cublas", nullptr};

struct Kernels {
  Variant linear = matmul_mma_linear();
  Variant wgmma = matmul_wgmma_decode();
  Variant gemv = matmul_gemv_shuffle();
  Variant table = matmul_mma_table();
  Variant cublas = matmul_fused_cublas();

  std::array<const Variant*, 5> all() const { return {&linear, &wgmma, &gemv, &table, &cublas}; }
};

const Kernels& kernels() {
  static const Kernels kernels;
  return kernels;
}

bool can(const Variant& variant, const Problem& problem, const DeviceFacts& device) {
  return why_unsupported(variant, problem, device) == nullptr;
}

constexpr std::int64_t kMi = std::int64_t{1} << 20;

// From how many tokens on the warpgroup kernel beats the integer kernel, measured on an H200.
constexpr std::int64_t kWgmmaTokens = 5;

// Up to how many an own kernel beats one that decodes the weight into memory and leaves the rest to
// cuBLAS, by the size of the weight.
struct Crossover {
  std::int64_t elements;  // up to
  std::int64_t most_tokens;
};

constexpr Crossover kCrossovers[] = {{8 * kMi, 256}, {32 * kMi, 384}};
constexpr std::int64_t kMostTokens = 512;

std::int64_t most_tokens(const Problem& problem) {
  for (const Crossover& each : kCrossovers) {
    if (problem.elements <= each.elements) return each.most_tokens;
  }
  return kMostTokens;
}

// The table decodes the weight again for each 64 tokens.
constexpr std::int64_t kMostTableTokens = 64;

// The best that needs no memory for a decoded weight; null where cuBLAS with one is faster, or
// there is nothing.
const Variant* choose_own(const Problem& problem, const DeviceFacts& device) {
  const Kernels& each = kernels();
  if (problem.tokens > most_tokens(problem)) return nullptr;
  if (problem.tokens >= kWgmmaTokens && can(each.wgmma, problem, device)) return &each.wgmma;
  for (const Variant* variant : {&each.linear, &each.wgmma, &each.gemv}) {
    if (can(*variant, problem, device)) return variant;
  }
  const bool is_for_table = problem.tokens <= kMostTableTokens && can(each.table, problem, device);
  return is_for_table ? &each.table : nullptr;
}

// cuBLAS where nothing is left, whether it can or not.
const Variant& choose(const Problem& problem, const Launch& launch) {
  for (const Variant* variant : kernels().all()) {
    if (launch.config != nullptr && std::strcmp(launch.config, variant->name) == 0 &&
        can(*variant, problem, launch.device)) {
      return *variant;
    }
  }
  const Variant* const own = choose_own(problem, launch.device);
  if (own != nullptr) return *own;
  const Kernels& each = kernels();
  const bool is_left_to_table =
      !can(each.cublas, problem, launch.device) && can(each.table, problem, launch.device);
  return is_left_to_table ? each.table : each.cublas;
}

}  // namespace

Variant matmul_fused() {
  Variant variant;
  variant.name = "fused";
  variant.summary = "fused; kernel chosen from the tokens, the sizes and the device";
  variant.traits.launches = 2;
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.traits.mirrors = "the flagship";
  variant.unsupported = [](const Problem& problem, const DeviceFacts& device) {
    return why_unsupported(choose(problem, {.device = device}), problem, device);
  };
  variant.workspace_bytes = [](const Problem& problem, const Launch& launch) {
    return static_cast<std::size_t>(workspace_of(choose(problem, launch), problem, launch));
  };
  variant.launch = [](const Job& job, const Launch& launch) {
    choose(job, launch).launch(job, launch);
  };
  variant.configs = kConfigNames;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
