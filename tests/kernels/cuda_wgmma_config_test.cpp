// Which configuration of wgmma_decode a product gets. Takes no device.

#include "cuda/matmul/wgmma/config.hpp"
#include "cuda_problems.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace nf4bench::kernels::cuda {
namespace {

const std::vector<std::pair<std::int64_t, std::int64_t>> kLayers = {
    {512, 512}, {1024, 4096}, {4096, 4096}, {8192, 8192}, {28672, 8192}, {8192, 28672}};

TEST(WgmmaConfig, EachIsTheFastestForSomeProduct) {
  std::set<WgmmaConfigIndex> chosen;
  for (const auto& [outputs, inputs] : kLayers) {
    for (std::int64_t tokens = 1; tokens <= 512; ++tokens) {
      Problem problem = make_problem(tokens, outputs, inputs);
      chosen.insert(choose_wgmma(problem));
      problem.transposed = true;
      chosen.insert(choose_wgmma(problem));
    }
  }
  EXPECT_EQ(chosen.size(), kWgmmaConfigCount);
}

struct Expected {
  std::int64_t tokens;
  WgmmaConfigIndex at_1024x4096;
  WgmmaConfigIndex at_28672x8192;
};

TEST(WgmmaConfig, ChangesWhereMoreTokensWantIt) {
  for (const auto& [tokens, small, large] : {Expected{8, kFor8, kFor8Tall},
                                             {9, kFor16, kFor16Tall},
                                             {16, kFor16, kFor16Tall},
                                             {17, kFor32, kFor32Tall},
                                             {32, kFor32, kFor32Tall},
                                             {33, kFor16, kFor64Tall},
                                             {64, kFor64, kFor64Tall},
                                             {65, kFor96, kFor96Tall},
                                             {96, kFor96, kFor96Tall},
                                             {97, kFor64Tall, kFor128},
                                             {128, kFor64Tall, kFor128},
                                             {129, kFor64, kFor96Tall},
                                             {256, kFor96, kFor256},
                                             {257, kFor96, kFor96Tall},
                                             {384, kFor96, kFor128},
                                             {385, kFor64, kFor256},
                                             {512, kFor64, kFor256},
                                             {4096, kFor256, kFor256}}) {
    EXPECT_EQ(choose_wgmma(make_problem(tokens, 1024, 4096)), small) << tokens;
    EXPECT_EQ(choose_wgmma(make_problem(tokens, 28672, 8192)), large) << tokens;
  }
}

// On a device with as many multiprocessors as any, or few.
TEST(WgmmaConfig, HasRoomForTheSumsAndCountersOfEverySplitTile) {
  for (const auto& [outputs, inputs] : kLayers) {
    for (const std::int64_t tokens : {1, 16, 40, 64, 100, 200, 300, 512, 5000}) {
      const Problem problem = make_problem(tokens, outputs, inputs);
      const WgmmaConfig& config = kWgmmaConfigs[choose_wgmma(problem)];
      const WgmmaWorkspace workspace(config, problem);
      for (const int multiprocessors : {7, 78, 132, 144, 160}) {
        const StagePlan plan = plan_wgmma(config, problem, multiprocessors);
        EXPECT_LE(plan.blocks, kMostGridBlocks);
        EXPECT_LE(plan.split * config.groups, workspace.tile_counters);
        EXPECT_LE((workspace.tile_counters + 1) * 8, workspace.sums);
        const std::int64_t tile_bytes = std::int64_t{config.rows()} * config.tokens * 4;
        EXPECT_LE(plan.blocks * 2 * tile_bytes, workspace.tokens - workspace.sums);
        if (!regroups(config, plan)) continue;
        EXPECT_EQ(workspace.bytes - workspace.tokens, inputs * config.tokens * 2);
      }
    }
  }
}

}  // namespace
}  // namespace nf4bench::kernels::cuda
