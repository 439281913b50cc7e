// Fused; Hopper's warpgroup products, with tiles that are found on the device.

#include "cuda/matmul/experts/grouped_launch.hpp"
#include "cuda/matmul/experts/variants.hpp"
#include "cuda/matmul/limits.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace nf4bench::kernels::cuda {
namespace {

template <int... kChoices>
constexpr auto launchers_of(std::integer_sequence<int, kChoices...>) {
  return std::array{launch_grouped<kChoices>...};
}

void launch(const Job& job, const Launch& launch) {
  static constexpr auto kLaunchers =
      launchers_of(std::make_integer_sequence<int, kGroupedChoiceCount>{});
  kLaunchers[choose_grouped(job)](job, launch);
}

const char* unsupported(const Problem& problem, const DeviceFacts& device) {
  if (device.compute_capability != 90) {
    return "needs the warpgroup products of compute capability 9.0";
  }
  if (problem.transposed && problem.outputs % 64 != 0) return kNeedsWholeBlocks;
  return lacks_turns(problem) ? kNeedsTurns : unsupported_grouped(problem);
}

std::size_t workspace_bytes(const Problem& problem, const Launch&) {
  const GroupedChoice& choice = kGroupedChoices[choose_grouped(problem)];
  return static_cast<std::size_t>(GroupedWorkspace(problem, choice).bytes);
}

}  // namespace

Variant experts_grouped_wgmma() {
  Variant variant;
  variant.name = "grouped_wgmma";
  variant.summary = "fused; Hopper's warpgroup products, rows sorted by expert on the device";
  variant.traits.launches = 2;
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.traits.activates = true;
  variant.traits.mirrors = "wgmma_decode, for stacks";
  variant.unsupported = unsupported;
  variant.workspace_bytes = workspace_bytes;
  variant.launch = launch;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
