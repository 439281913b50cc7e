// Fused; Hopper's warpgroup products with weights decoded into registers.

#include "cuda/dispatch.cuh"
#include "cuda/matmul/limits.hpp"
#include "cuda/matmul/variants.hpp"
#include "cuda/matmul/wgmma/wgmma_decode.cuh"

#include <array>
#include <utility>

namespace nf4bench::kernels::cuda {
namespace {

template <class Shape, OutputType kType>
void launch_shape(const Job& job, const Launch& launch, const WgmmaConfig& config) {
  const StagePlan plan = plan_wgmma(config, job, launch.device.multiprocessors);
  const WgmmaWorkspace parts(config, job);
  auto* workspace = static_cast<std::uint8_t*>(job.workspace);
  auto* counters = reinterpret_cast<unsigned long long*>(workspace);
  const SplitSums split = {reinterpret_cast<float*>(workspace + parts.sums), counters};
  const ClusterSums cluster = plan.is_cluster ? place_cluster_sums<Shape>(plan) : ClusterSums{};
  const RegroupedTokens regrouped = {workspace + parts.tokens, counters + parts.tile_counters};
  const Grid grid = {.blocks = static_cast<unsigned>(plan.blocks),
                     .threads = Shape::kThreads,
                     .shared_bytes = Shape::kBytes,
                     .cluster = plan.is_cluster ? static_cast<unsigned>(plan.team) : 1};
  auto* kernel = wgmma_decode<Shape, false, kType>;
  if constexpr (Shape::kCanRegroup) {
    if (regroups(config, plan)) kernel = wgmma_decode<Shape, true, kType>;
  }
  launch_grid(launch, grid, kernel, weights_of<Shape>(job, launch.device),
              token_map(job, launch.device, Shape::kTokens), job, plan, split, cluster, regrouped,
              stage_scales(job));
}

template <int kIndex>
void launch_config(const Job& job, const Launch& launch) {
  static constexpr WgmmaConfig kConfig = kWgmmaConfigs[kIndex];
  using Shape = WgmmaShape<kConfig.tokens, kConfig.groups, kConfig.weight_slots,
                           kConfig.token_slots, kConfig.slot_quarters, kConfig.transposed>;
  dispatch_16_bit(
      job, [&](auto type) { launch_shape<Shape, decltype(type)::value>(job, launch, kConfig); });
}

template <int... kIndices>
constexpr auto launchers_of(std::integer_sequence<int, kIndices...>) {
  return std::array{launch_config<kIndices>...};
}

void launch_wgmma(const Job& job, const Launch& launch) {
  static constexpr auto kLaunchers =
      launchers_of(std::make_integer_sequence<int, kWgmmaConfigCount>{});
  kLaunchers[choose_wgmma(job)](job, launch);
}

}  // namespace

Variant matmul_wgmma_decode() {
  Variant variant;
  variant.name = "wgmma_decode";
  variant.summary = "fused; Hopper's warpgroup products, weights in registers";
  variant.traits.launches = 1;
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.traits.mirrors = "the fastest for many tokens on Hopper";
  variant.unsupported = wgmma_decode_unsupported;
  variant.workspace_bytes = [](const Problem& problem, const Launch&) {
    const WgmmaWorkspace parts(kWgmmaConfigs[choose_wgmma(problem)], problem);
    return static_cast<std::size_t>(parts.bytes);
  };
  variant.launch = launch_wgmma;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
