// The flagship: the kernel that is the fastest for the sizes and the device. Launch::config forces
// one by name, where it can do the problem in the workspace that the choice asks for.

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

// Whether cuBLAS is to multiply, whatever the device: the workspace depends on it.
bool needs_cublas(const Problem& problem) {
  constexpr DeviceFacts kHopper = {90, 132, 0};
  const Kernels& each = kernels();
  if (problem.tokens > most_tokens(problem)) return true;
  if (can(each.wgmma, problem, kHopper) || can(each.linear, problem, kHopper)) return false;
  return problem.tokens > kMostTableTokens || !can(each.table, problem, kHopper);
}

// Null where nothing can do it.
const Variant* choose(const Problem& problem, const DeviceFacts& device) {
  const Kernels& each = kernels();
  if (needs_cublas(problem)) return can(each.cublas, problem, device) ? &each.cublas : nullptr;
  if (problem.tokens >= kWgmmaTokens && can(each.wgmma, problem, device)) return &each.wgmma;
  for (const Variant* variant : {&each.linear, &each.wgmma, &each.gemv, &each.table}) {
    if (can(*variant, problem, device)) return variant;
  }
  return nullptr;
}

const Variant* choose(const Problem& problem, const Launch& launch) {
  for (const Variant* variant : kernels().all()) {
    if (launch.config != nullptr && std::strcmp(launch.config, variant->name) == 0 &&
        can(*variant, problem, launch.device) &&
        (variant != &kernels().cublas || needs_cublas(problem))) {
      return variant;
    }
  }
  return choose(problem, launch.device);
}

const char* unsupported(const Problem& problem, const DeviceFacts& device) {
  if (choose(problem, device) != nullptr) return nullptr;
  if (needs_cublas(problem)) return why_unsupported(kernels().cublas, problem, device);
  return "needs compute capability 8.0; try fused_cublas";
}

std::size_t workspace_bytes(const Problem& problem) {
  std::int64_t most = 0;
  for (const Variant* variant : kernels().all()) {
    if (variant == &kernels().cublas && !needs_cublas(problem)) continue;
    const std::int64_t bytes = workspace_of(*variant, problem);
    if (bytes > most) most = bytes;
  }
  return static_cast<std::size_t>(most);
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
  variant.unsupported = unsupported;
  variant.workspace_bytes = workspace_bytes;
  variant.launch = [](const Job& job, const Launch& launch) {
    const Variant* const chosen = choose(job, launch);
    if (chosen != nullptr) chosen->launch(job, launch);
  };
  variant.configs = kConfigNames;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
