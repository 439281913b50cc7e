// The flagship: the kernel that is the fastest for the sizes and the device. Launch::config forces
// one by name, where it can do the problem.

#include "cuda/matmul/own_products.hpp"
#include "cuda/matmul/variants.hpp"
#include "own.hpp"

#include <cstring>
#include <vector>

namespace nf4bench::kernels::cuda {
namespace {

const Variant& decode_cublas() {
  static const Variant variant = matmul_decode_cublas();
  return variant;
}

const char* const* config_names() {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> all;
    for (const Variant& product : own_products()) all.push_back(product.name);
    all.insert(all.end(), {decode_cublas().name, nullptr});
    return all;
  }();
  return names.data();
}

const Variant* forced(const char* config) {
  if (config == nullptr) return nullptr;
  for (const Variant& product : own_products()) {
    if (std::strcmp(config, product.name) == 0) return &product;
  }
  return std::strcmp(config, decode_cublas().name) == 0 ? &decode_cublas() : nullptr;
}

bool can(const Variant& variant, const Problem& problem, const DeviceFacts& device) {
  return why_unsupported(variant, problem, device) == nullptr;
}

// cuBLAS where nothing is left, whether it can or not.
const Variant& choose(const Problem& problem, const Launch& launch) {
  const Variant* const variant = forced(launch.config);
  if (variant != nullptr && can(*variant, problem, launch.device)) return *variant;
  const OwnChoice own = own_kernels().choose_matmul(problem, launch.device);
  if (own.beats_blas) return *own.variant;
  const bool is_left_to_own =
      own.variant != nullptr && !can(decode_cublas(), problem, launch.device);
  return is_left_to_own ? *own.variant : decode_cublas();
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
  variant.configs = config_names();
  return variant;
}

}  // namespace nf4bench::kernels::cuda
