#include "cuda/matmul/experts/variants.hpp"
#include "own.hpp"

namespace nf4bench::kernels::cuda {
namespace {

// Activated products get the kernel that is fastest without.
const Variant& choose(Problem problem, const DeviceFacts& device) {
  problem.group.activates = problem.group.in_turns = false;
  const Variant* const variant = own_kernels().choose_grouped(problem, device);
  return variant != nullptr ? *variant : own_grouped_products().back();
}

}  // namespace

const std::vector<Variant>& own_grouped_products() {
  static const std::vector<Variant> products = {experts_grouped_linear(), experts_grouped_columns(),
                                                experts_grouped_wgmma(), experts_grouped_ring(),
                                                experts_grouped_any()};
  return products;
}

Variant experts_fused() {
  Variant variant;
  variant.name = "fused";
  variant.summary = "fused; kernel chosen from the sizes and the device";
  variant.traits.launches = 2;
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.traits.activates = true;
  variant.traits.mirrors = "the flagship";
  variant.unsupported = [](const Problem& problem, const DeviceFacts& device) {
    return why_unsupported(choose(problem, device), problem, device);
  };
  variant.workspace_bytes = [](const Problem& problem, const Launch& launch) {
    return static_cast<std::size_t>(workspace_of(choose(problem, launch.device), problem, launch));
  };
  variant.launch = [](const Job& job, const Launch& launch) {
    choose(job, launch.device).launch(job, launch);
  };
  return variant;
}

}  // namespace nf4bench::kernels::cuda
