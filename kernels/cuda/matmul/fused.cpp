// The flagship: the kernel that is the fastest for the sizes and the device. Launch::config forces
// one by name, where it can do the problem.

#include "cuda/matmul/variants.hpp"
#include "own.hpp"

#include <array>
#include <cstring>

namespace nf4bench::kernels::cuda {
namespace {

constexpr const char* kConfigNames[] = {"mma_linear", "wgmma_decode", "gemv_shuffle",
                                        "mma_table",  "fused_cublas", nullptr};

using Kernels = std::array<Variant, 5>;

const Kernels& kernels() {
  static const Kernels kernels = {matmul_mma_linear(), matmul_wgmma_decode(), matmul_gemv_shuffle(),
                                  matmul_mma_table(), matmul_fused_cublas()};
  return kernels;
}

bool can(const Variant& variant, const Problem& problem, const DeviceFacts& device) {
  return why_unsupported(variant, problem, device) == nullptr;
}

// cuBLAS where nothing is left, whether it can or not.
const Variant& choose(const Problem& problem, const Launch& launch) {
  for (const Variant& variant : kernels()) {
    if (launch.config != nullptr && std::strcmp(launch.config, variant.name) == 0 &&
        can(variant, problem, launch.device)) {
      return variant;
    }
  }
  const OwnChoice own = own_kernels().choose_matmul(problem, launch.device);
  if (own.beats_blas) return *own.variant;
  const Variant& cublas = kernels().back();
  const bool is_left_to_own = own.variant != nullptr && !can(cublas, problem, launch.device);
  return is_left_to_own ? *own.variant : cublas;
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
