// The flagship: the kernel that is the fastest for the sizes and the device. Launch::config forces
// one by name, where it can do the problem.

#include "cuda/matmul/variants.hpp"

#include <array>
#include <cstring>

namespace nf4bench::kernels::cuda {
namespace {

constexpr const char* kConfigNames[] = {"mma_linear", "wgmma_decode", "gemv_shuffle",
                                        "fused_cublas", nullptr};

struct Kernels {
  Variant linear = matmul_mma_linear();
  Variant wgmma = matmul_wgmma_decode();
  Variant gemv = matmul_gemv_shuffle();
  Variant cublas = matmul_fused_cublas();

  std::array<const Variant*, 4> all() const { return {&linear, &wgmma, &gemv, &cublas}; }
};

const Kernels& kernels() {
  static const Kernels kernels;
  return kernels;
}

bool can(const Variant& variant, const Problem& problem, const DeviceFacts& device) {
  return why_unsupported(variant, problem, device) == nullptr;
}

// From how many tokens on the warpgroup kernel is faster than the integer kernel (H200).
std::int64_t tokens_for_wgmma(const Problem& problem) {
  return problem.elements >= std::int64_t{100} << 20 ? 5 : 9;
}

// What cuBLAS is needed for, whatever the device: the workspace depends on it.
bool needs_cublas(const Problem& problem) {
  constexpr DeviceFacts kBest = {90, 132, 0};
  const Kernels& each = kernels();
  return !can(each.wgmma, problem, kBest) && !can(each.linear, problem, kBest) &&
         !can(each.gemv, problem, kBest);
}

// Null where nothing can do it.
const Variant* choose(const Problem& problem, const DeviceFacts& device) {
  const Kernels& each = kernels();
  if (needs_cublas(problem)) return can(each.cublas, problem, device) ? &each.cublas : nullptr;
  const bool prefers_wgmma = problem.tokens >= tokens_for_wgmma(problem);
  if (prefers_wgmma && can(each.wgmma, problem, device)) return &each.wgmma;
  for (const Variant* variant : {&each.linear, &each.wgmma, &each.gemv}) {
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
  return needs_cublas(problem) ? why_unsupported(kernels().cublas, problem, device)
                               : why_unsupported(kernels().linear, problem, device);
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
