#pragma once

// What grouped_wgmma is compiled for, in two files, and which of it a product gets.

#include "cuda/matmul/experts/grouped_plan.hpp"
#include "cuda/matmul/wgmma/config.hpp"

namespace nf4bench::kernels::cuda {

// One of kWgmmaConfigs, and whether a launch before sorts the slots. The tables may take the place
// of some slots of the ring of activations.
struct GroupedChoice {
  WgmmaConfigIndex config;
  bool is_routed;
  int fewer_token_slots = 0;
};

inline constexpr GroupedChoice kGroupedChoices[] = {
    {kFor8, false},     {kFor16, false},    {kFor8, true},      {kFor16, true},
    {kFor32, true},     {kFor32Tall, true}, {kFor64Tall, true}, {kFor96, true, 1},
    {kFor96Tall, true}, {kFor128, true},    {kFor256, true}};
inline constexpr int kGroupedChoiceCount = sizeof(kGroupedChoices) / sizeof(GroupedChoice);

// Launches the index-th.
template <int kChoice>
void launch_grouped(const Job& job, const Launch& launch);

// Where the parts of the workspace begin, in bytes: what is routed, then the slots' sums.
struct GroupedWorkspace {
  RoutedWorkspace routed;
  std::int64_t sums;
  std::int64_t bytes;

  GroupedWorkspace(const Problem& problem, bool is_routed)
      : routed(problem), sums(is_routed ? block_count(routed.bytes, 256) * 256 : 0), bytes(sums) {
    if (is_routed) bytes = routed.bytes;
    if (problem.group.sums_slots) bytes = sums + slots_of(problem) * problem.outputs * 4;
  }
};

// Nanoseconds on an H200 where tokens choose evenly.
inline double time_of(const Problem& problem, const GroupedChoice& choice) {
  const WgmmaConfig& config = kWgmmaConfigs[choice.config];
  constexpr double kBlocks = 132.0;
  constexpr double kTileNs = 300.0;
  const double tiles = expected_tiles(problem, config.tokens) *
                       static_cast<double>(block_count(problem.outputs, config.rows()));
  const double stages = static_cast<double>(block_count(problem.inputs, 256));
  const double moved = static_cast<double>(slots_of(problem) * problem.inputs * 4);
  const double routing = choice.is_routed ? 4000.0 + moved / 3000.0 : 0.0;
  return config.call_ns + routing +
         std::ceil(tiles / kBlocks) * (stages * config.costs.stage + kTileNs);
}

inline int choose_grouped(const Problem& problem) {
  int fastest = 0;
  double least = 1e30;
  for (int i = 0; i < kGroupedChoiceCount; ++i) {
    const bool is_routed = kGroupedChoices[i].is_routed;
    if (!is_routed && slots_of(problem) > kMostOwnSlots) continue;
    const double ns = time_of(problem, kGroupedChoices[i]);
    if (ns >= least) continue;
    least = ns;
    fastest = i;
  }
  return fastest;
}

}  // namespace nf4bench::kernels::cuda
