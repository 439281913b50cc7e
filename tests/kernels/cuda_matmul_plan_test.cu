// How the CUDA kernels of the matrix product cut their work: every part is done, and done once.

#include "cuda/dependent_launch.cuh"
#include "cuda/matmul/join/cluster_tile.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"
#include "cuda/matmul/schedule/unit_plan.hpp"
#include "cuda/matmul/schedule/unit_walk.cuh"
#include "cuda/matmul/table/table_plan.hpp"
#include "cuda/matmul/wgmma/warp_consumer.cuh"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace nf4bench::kernels::cuda {
namespace {

constexpr StageCosts kCosts = {.stage = 1, .spread = 2, .team = 2, .cluster = 1};

// Without it a kernel would write what its predecessor still reads.
TEST(DependentLaunch, NeedsCodeOfHopperOrLater) {
  EXPECT_TRUE(waits_for_previous({750, 800, 900}, 90));
  EXPECT_TRUE(waits_for_previous({900}, 120));
  EXPECT_FALSE(waits_for_previous({750, 800, 900}, 89));
  EXPECT_FALSE(waits_for_previous({800}, 90));
  EXPECT_FALSE(waits_for_previous({800, 1200}, 90));
}

TEST(StageWalk, DoesEveryStageOfEveryTileOnce) {
  for (const int tiles : {1, 2, 7, 112, 131, 132, 133, 150, 264, 449}) {
    for (const int stages : {1, 2, 4, 16, 32, 57}) {
      for (const int most_blocks : {1, 2, 108, 132}) {
        const StagePlan plan =
            plan_tiles(tiles, stages, most_blocks, {.spread = tiles % 3, .team = stages % 3});
        ASSERT_LE(plan.blocks, most_blocks);
        std::vector<int> done(static_cast<std::size_t>(tiles * stages));
        for (int block = 0; block < plan.blocks; ++block) {
          int split_tiles = 0;
          for (TileWalk walk(plan, block); walk.valid(); walk.advance(plan)) {
            split_tiles += walk.tile >= plan.whole ? 1 : 0;
            for (int stage = walk.begin; stage < walk.end; ++stage) {
              ++done[static_cast<std::size_t>(walk.tile * stages + stage)];
            }
          }
          // A block has room for the sums of two split tiles.
          EXPECT_LE(split_tiles, 2);
        }
        for (const int count : done) ASSERT_EQ(count, 1) << tiles << " tiles, " << stages;
      }
    }
  }
}

TEST(StageWalk, GivesEachBlockOfATeamItsShareOfOneTile) {
  for (const int stages : {8, 16, 43}) {
    const StagePlan plan = plan_clusters(5, stages, 8);
    EXPECT_EQ(plan.blocks, 40);
    EXPECT_EQ(time_of(plan, kCosts), (stages + 7) / 8 + 1);
    for (int tile = 0; tile < 5; ++tile) {
      int next = 0;
      for (int block = tile * 8; block < tile * 8 + 8; ++block) {
        TileWalk walk(plan, block);
        EXPECT_EQ(walk.tile, tile);
        EXPECT_EQ(walk.begin, next);
        EXPECT_LE(walk.end - walk.begin, (stages + 7) / 8);
        EXPECT_TRUE(walk.valid());
        EXPECT_FALSE(walk.is_whole(plan));
        next = walk.end;
        walk.advance(plan);
        EXPECT_FALSE(walk.valid());
      }
      EXPECT_EQ(next, stages);
    }
  }
}

TEST(StageWalk, GivesTeamsWhatWholeTilesLeaveOver) {
  // 18 tiles over seven blocks each, where all blocks would have 4.36 stages of up to two of them.
  const StageCosts costs = {.stage = 1, .spread = 3, .team = 2};
  const StagePlan plan = plan_tiles(150, 32, 132, costs);
  EXPECT_EQ(plan.blocks, 132);
  EXPECT_EQ(plan.whole, 132);
  EXPECT_EQ(plan.team, 7);
  EXPECT_EQ(time_of(plan, costs), 32 + 5 + 2);
  for (int block = 0; block < plan.blocks; ++block) {
    TileWalk walk(plan, block);
    EXPECT_EQ(walk.tile, block);
    EXPECT_TRUE(walk.is_whole(plan));
    walk.advance(plan);
    // Six blocks are left over.
    ASSERT_EQ(walk.valid(), block < 126);
    if (block >= 126) continue;
    EXPECT_EQ(walk.tile, 132 + block / 7);
    EXPECT_LE(walk.end - walk.begin, 5);
    walk.advance(plan);
    EXPECT_FALSE(walk.valid());
  }
}

TEST(StageWalk, SplitsTilesOnlyWhereThatSavesStages) {
  // 128 of 132 blocks have a tile each: splitting would save one stage in 32.
  EXPECT_EQ(plan_tiles(128, 32, 132, kCosts).split, 0);
  EXPECT_EQ(plan_tiles(66, 32, 132, kCosts).split, 66);
  EXPECT_EQ(time_of(plan_tiles(128, 32, 132, kCosts), kCosts), 32);
  EXPECT_EQ(time_of(plan_tiles(66, 32, 132, kCosts), kCosts), 18);
  EXPECT_EQ(time_of(plan_tiles(198, 32, 132, kCosts), kCosts), 50);
  // Fewer stages than blocks, too few to split further.
  EXPECT_EQ(plan_tiles(2, 2, 132, kCosts).split, 0);
}

TEST(StageWalk, GivesNoBlockPartsOfTwoTilesWhereThatTakesNoLonger) {
  const StagePlan plan = plan_tiles(32, 32, 132, kCosts);
  EXPECT_EQ(plan.blocks, 128);
  EXPECT_EQ(time_of(plan, kCosts), 8 + 2);
  for (int block = 0; block < plan.blocks; ++block) {
    const TileWalk walk(plan, block);
    EXPECT_EQ(walk.tile, block / 4);
    EXPECT_EQ(walk.begin, block % 4 * 8);
    EXPECT_EQ(walk.end, walk.begin + 8);
  }
  // Two blocks a tile would have eight stages each.
  EXPECT_EQ(plan_tiles(56, 16, 132, kCosts).blocks, 132);
  EXPECT_EQ(time_of(plan_tiles(56, 16, 132, kCosts), kCosts), 7 + 2);
  // Three have six, but parts of one tile each.
  EXPECT_EQ(plan_tiles(36, 16, 132, {.spread = 5, .team = 2}).team, 3);
  // 18 stages of each tile over four blocks.
  EXPECT_EQ(plan_tiles(32, 18, 132, kCosts).team, 4);
  EXPECT_EQ(time_of(plan_tiles(32, 18, 132, kCosts), kCosts), 5 + 2);
}

TEST(StageWalk, LeavesRoomForProductsOfSixPriorities) {
  for (const StageCosts& costs : {StageCosts{.stage = 9, .spread = 1, .team = 2},
                                  StageCosts{.stage = 9, .spread = 2, .team = 1}}) {
    for (int tiles = 1; tiles < 400; ++tiles) {
      for (const int stages : {1, 5, 16, 57, 112}) {
        const StagePlan plan = plan_tiles(tiles, stages, 132, costs);
        for (int tile = 0; tile < plan.split; ++tile) {
          // All but one of a tile's blocks may wait for it.
          ASSERT_LT((TileBlocks(plan, tile).count - 1) * 6, 132) << tiles << " tiles, " << stages;
        }
      }
    }
  }
}

TEST(StageWalk, VisitsTheStagesOfTheTileWalkInItsOrder) {
  StagePlan plan = plan_tiles(150, 32, 132, kCosts);
  plan.token_groups = 3;
  for (int block = 0; block < plan.blocks; ++block) {
    StageWalk stages(plan, block);
    for (TileWalk tiles(plan, block); tiles.valid(); tiles.advance(plan)) {
      for (int stage = tiles.begin; stage < tiles.end; ++stage, stages.advance(plan)) {
        ASSERT_EQ(stages.tile.tile, tiles.tile);
        ASSERT_EQ(stages.stage, stage);
        ASSERT_EQ(stages.place.rows, tiles.tile / 3);
        ASSERT_EQ(stages.place.tokens, tiles.tile % 3);
      }
    }
    EXPECT_FALSE(stages.tile.valid());
  }
}

TEST(StageWalk, GoesThroughAllRowsOfABandOfTokensBeforeTheNext) {
  constexpr int kRows = 7;
  for (const int token_groups : {2, 8, 9, 16, 19}) {
    StagePlan plan = plan_tiles(kRows * token_groups, 4, 132, kCosts);
    plan.token_groups = token_groups;
    std::vector<int> visits(static_cast<std::size_t>(kRows * token_groups));
    int last_band = 0;
    for (int tile = 0; tile < kRows * token_groups; ++tile) {
      const TilePlace place(plan, tile);
      ASSERT_LT(place.rows, kRows);
      ASSERT_LT(place.tokens, token_groups);
      ++visits[static_cast<std::size_t>(place.rows * token_groups + place.tokens)];
      ASSERT_GE(place.tokens / 8, last_band);
      last_band = place.tokens / 8;
    }
    for (const int count : visits) EXPECT_EQ(count, 1);
  }
}

TEST(StageWalk, KnowsWhichBlocksShareATile) {
  for (const StagePlan& plan :
       {plan_tiles(7, 16, 132, kCosts), plan_tiles(56, 16, 132, kCosts),
        plan_tiles(150, 32, 132, kCosts), plan_teams(150, 32, 132, 7), plan_teams(9, 43, 132, 5),
        plan_clusters(16, 20, 8), plan_teams(1, 132, 132, 132)}) {
    std::vector<std::vector<int>> blocks_of(static_cast<std::size_t>(plan.split));
    std::vector<int> first_tile_of(static_cast<std::size_t>(plan.blocks), -1);
    for (int block = 0; block < plan.blocks; ++block) {
      for (TileWalk walk(plan, block); walk.valid(); walk.advance(plan)) {
        if (walk.tile < plan.whole) continue;
        blocks_of[static_cast<std::size_t>(walk.tile - plan.whole)].push_back(block);
        int& first = first_tile_of[static_cast<std::size_t>(block)];
        if (first < 0) first = walk.tile - plan.whole;
      }
    }
    for (int tile = 0; tile < plan.split; ++tile) {
      const std::vector<int>& expected = blocks_of[static_cast<std::size_t>(tile)];
      const TileBlocks blocks(plan, tile);
      EXPECT_EQ(blocks.first, expected.front());
      EXPECT_EQ(blocks.first + blocks.count - 1, expected.back());
      EXPECT_EQ(blocks.first_has_another,
                first_tile_of[static_cast<std::size_t>(blocks.first)] < tile);
    }
  }
}

// Blocks that are told early that the others are ready send sums to where nothing of the others'
// last stages lies, nor of the products that may still be under way when these begin.
template <class Shape>
int early_clusters() {
  int early = 0;
  for (const int team : {2, 4, 8}) {
    for (int stages = team; stages < 200; ++stages) {
      const StagePlan plan = plan_clusters(1, stages, team);
      const ClusterSums sums = place_cluster_sums<Shape>(plan);
      EXPECT_EQ(sums.at % 16, 0);
      EXPECT_GE(sums.at, Shape::kWeights);
      EXPECT_LE(sums.at + Shape::cluster_bytes(team), Shape::kScales);
      if (!sums.is_early) continue;
      ++early;
      for (int block = 0; block < team; ++block) {
        const TileWalk walk(plan, block);
        const auto expect_apart = [&](int first, int bytes) {
          EXPECT_TRUE(first + bytes <= sums.at || sums.at + Shape::cluster_bytes(team) <= first)
              << stages << " stages, " << team << " blocks";
        };
        int weights = 0;
        int tokens = 0;
        for (int stage = walk.begin; stage < walk.end; ++stage) {
          const bool is_last = stage + 1 == walk.end;
          const bool is_before = stage + 2 == walk.end;
          if (is_last) {
            expect_apart(Shape::kWeights + weights * Shape::kWeightSlotBytes,
                         Shape::kWeightSlotBytes);
          }
          weights = (weights + 1) % Shape::kWeightSlots;
          for (int i = 0; i < 4; i += Shape::kSlotQuarters) {
            if (is_last || (is_before && i + Shape::kSlotQuarters == 4)) {
              expect_apart(Shape::kActivations + tokens * Shape::kTokenSlotBytes,
                           Shape::kTokenSlotBytes);
            }
            tokens = (tokens + 1) % Shape::kTokenSlots;
          }
        }
      }
    }
  }
  return early;
}

TEST(WgmmaCluster, SendsSumsToWhereNothingElseLies) {
  EXPECT_GT((early_clusters<WgmmaShape<8, 2, 6, 4, 4>>()), 500);
  EXPECT_GT((early_clusters<WgmmaShape<16, 3, 4, 4, 4>>()), 300);
  EXPECT_GT((early_clusters<WgmmaShape<32, 2, 5, 4, 4>>()), 300);
  EXPECT_EQ((early_clusters<WgmmaShape<64, 2, 2, 9, 2>>()), 0);
}

template <int... kIndices>
std::vector<int> wgmma_bytes(std::integer_sequence<int, kIndices...>) {
  return {WgmmaShape<kWgmmaConfigs[kIndices].tokens, kWgmmaConfigs[kIndices].groups,
                     kWgmmaConfigs[kIndices].weight_slots, kWgmmaConfigs[kIndices].token_slots,
                     kWgmmaConfigs[kIndices].slot_quarters,
                     kWgmmaConfigs[kIndices].transposed>::kBytes...};
}

TEST(WgmmaConfig, FitsTheSharedMemoryOfHopper) {
  for (const int bytes : wgmma_bytes(std::make_integer_sequence<int, kWgmmaConfigCount>{})) {
    EXPECT_LE(bytes, 227 << 10);
  }
}

TEST(UnitWalk, DoesEveryUnitOfEverySliceOnce) {
  for (const std::int64_t outputs : {16, 1024, 4096, 28672}) {
    for (const std::int64_t inputs : {64, 1088, 4096, 13824, 18944, 25600, 28672, 53248}) {
      Problem problem;
      problem.outputs = outputs;
      problem.inputs = inputs;
      const DeviceFacts device = {90, 132, 0};
      const PlannedUnits planned =
          plan_units(problem, device, {16, 4, 25},
                     [](int boxes, int units) { return 70000 + boxes * 2176 + units * 256; });
      const UnitPlan& plan = planned.plan;
      ASSERT_LE(planned.grid.shared_bytes, shared_bytes_a_block(device));
      EXPECT_EQ(plan.block_tiles * static_cast<int>(planned.grid.blocks) + plan.extra_tiles,
                plan.tiles);
      EXPECT_GE(plan.slices * plan.slice_boxes, plan.boxes);
      EXPECT_LT((plan.slices - 1) * plan.slice_boxes, plan.boxes);
      if (plan.slices > 1) EXPECT_EQ(plan.slice_boxes % planned.unit_boxes, 0);
      const int tiles = count_of(plan.tiles, planned.grid.blocks);
      std::vector<int> done(static_cast<std::size_t>(plan.slices * tiles * plan.units));
      for (int warp = 0; warp < kUnitWarps; ++warp) {
        for (UnitWalk walk(warp, tiles, plan); walk.valid(plan); walk.advance(warp, tiles, plan)) {
          ++done[static_cast<std::size_t>((walk.slice * tiles + walk.tile) * plan.units +
                                          walk.unit)];
        }
      }
      for (const int count : done) ASSERT_EQ(count, 1) << outputs << "x" << inputs;
    }
  }
}

TEST(UnitPlan, TakesLargerUnitsAsFarAsTheBusiestWarpMayHaveMore) {
  // Two tiles of 16 boxes: two boxes a warp, or four for half of the warps.
  EXPECT_EQ(choose_unit_boxes(2, 16, {1, 4, 25}), 2);
  EXPECT_EQ(choose_unit_boxes(2, 16, {1, 4, 100}), 4);
  EXPECT_EQ(choose_unit_boxes(2, 16, {1, 1, 100}), 1);
  EXPECT_EQ(choose_unit_boxes(14, 32, {1, 4, 0}), 4);
}

Problem make_problem(std::int64_t tokens, std::int64_t outputs, std::int64_t inputs) {
  Problem problem;
  problem.tokens = tokens;
  problem.outputs = outputs;
  problem.inputs = inputs;
  problem.elements = outputs * inputs;
  return problem;
}

TEST(TablePlan, FitsEveryDeviceAndItsWorkspace) {
  const std::vector<DeviceFacts> devices = {{80, 108, 0}, {86, 10, 0},   {89, 128, 0}, {90, 132, 0},
                                            {90, 1, 0},   {100, 148, 0}, {120, 188, 0}};
  for (const std::int64_t tokens : {1, 9, 17, 33, 500}) {
    for (const std::int64_t outputs : {1, 128, 1000, 4096, 28672, 70000}) {
      for (const std::int64_t inputs : {1, 96, 3420, 4096, 8192}) {
        const Problem problem = make_problem(tokens, outputs, inputs);
        for (const DeviceFacts& device : devices) {
          with_table_traits(problem, choose_tiles(problem, device), [&](auto traits) {
            using Traits = decltype(traits);
            using Layout = TableLayout<Traits>;
            const TableShape shape = table_shape<Traits>(problem, device);
            ASSERT_GE(shape.slots, 2) << device.compute_capability;
            ASSERT_LE(Layout::bytes(shape.slots), shared_bytes_a_block(device));
            // A thread for each scale, and room for the sums where the ring was.
            EXPECT_LE(Traits::kRows * (kStageInputs >> shape.span_shift), kTableThreads);
            EXPECT_LE(Traits::kPieces * 16, shape.slots * Layout::kSlotBytes);
            EXPECT_EQ(Traits::kPieces % kJoinThreads, 0);
            const StagePlan plan = plan_table<Traits>(problem, device);
            if (plan.split == 0) return;
            EXPECT_LE(static_cast<std::size_t>(plan.blocks + plan.split) * Traits::kPieces * 16,
                      table_workspace(problem));
          });
        }
      }
    }
  }
}

// No two blocks leave their sums of split tiles in the same place.
TEST(TablePlan, PartsOfSplitTilesLieApart) {
  for (const int tiles : {1, 7, 112, 133}) {
    const StagePlan plan = plan_tiles(tiles, 32, 132, kCosts);
    std::set<int> places;
    int parts = 0;
    for (int block = 0; block < plan.blocks; ++block) {
      for (TileWalk walk(plan, block); walk.valid(); walk.advance(plan)) {
        if (walk.tile < plan.whole) continue;
        ++parts;
        places.insert(block + walk.tile - plan.whole);
      }
    }
    EXPECT_EQ(places.size(), parts);
    if (parts > 0) EXPECT_LT(*places.rbegin(), plan.blocks + plan.split);
  }
}

// The words of its rows that a warp reads together lie in 32 banks, and each eight lanes' pieces of
// tokens in eight different ones.
TEST(TableStage, LanesReadDifferentBanks) {
  for (int step = 0; step < 4; ++step) {
    std::set<int> banks;
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4;
      const int t = lane % 4;
      banks.insert((row * 16 + run_place(row, t) * 4 + lane_word(step, t)) % 32);
    }
    EXPECT_EQ(banks.size(), 32);
    for (int first = 0; first < 32; first += 8) {
      std::set<int> pieces;
      for (int lane = first; lane < first + 8; ++lane) {
        pieces.insert(token_place(lane / 4, lane % 4 * 4 + lane_word(step, lane % 4)) % 8);
      }
      EXPECT_EQ(pieces.size(), 8);
    }
  }
}

// What a warp of wgmma_decode multiplies with few tokens, lane by lane, as mma.m16n8k16 does it:
// its rows of a quarter by eight tokens, both as the copy engine leaves them.
TEST(WarpProducts, MultiplyEachWeightByItsInput) {
  constexpr int kRows = 16;
  constexpr int kTokens = 8;
  constexpr int kInputs = 64;
  const auto copied = [](int row, int byte) {
    return row * kBoxBytes + (byte / 16 ^ row % 8) * 16 + byte % 16;
  };
  for (int quarter = 0; quarter < 4; ++quarter) {
    // Of each weight or input a number of its own, small enough for exact sums.
    const auto weight = [&](int row, int input) { return 1 + (row * 7 + input * 3) % 15; };
    const auto input_of = [](int token, int input) { return 1 + (token * 31 + input * 11) % 101; };
    std::vector<std::uint8_t> weights(kRows * kBoxBytes);
    std::vector<std::uint16_t> tokens(kTokens * kBoxBytes / 2);
    for (int row = 0; row < kRows; ++row) {
      for (int i = 0; i < kInputs / 2; ++i) {
        weights[static_cast<std::size_t>(copied(row, quarter * 32 + i))] =
            static_cast<std::uint8_t>(weight(row, 2 * i) << 4 | weight(row, 2 * i + 1));
      }
    }
    for (int token = 0; token < kTokens; ++token) {
      for (int i = 0; i < kInputs; ++i) {
        tokens[static_cast<std::size_t>(copied(token, 2 * i)) / 2] =
            static_cast<std::uint16_t>(input_of(token, i));
      }
    }
    std::vector<int> sums(kRows * kTokens);
    for (int lane = 0; lane < 32; ++lane) {
      const int t = lane % 4;
      for (int token = 0; token < kTokens; ++token) {
        for (int second = 0; second < 2; ++second) {
          const int row = lane_row(lane, second);
          for (int pair = 0; pair < 8; ++pair) {
            const std::uint8_t byte =
                weights[static_cast<std::size_t>(word_place(row, quarter, t) + pair)];
            const std::uint16_t* inputs =
                &tokens[static_cast<std::size_t>(half_place(token, t, pair / 4)) / 2 +
                        static_cast<std::size_t>(pair % 4 * 2)];
            sums[static_cast<std::size_t>(row * kTokens + token)] +=
                (byte >> 4) * inputs[0] + (byte & 15) * inputs[1];
          }
        }
      }
    }
    for (int row = 0; row < kRows; ++row) {
      for (int token = 0; token < kTokens; ++token) {
        int expected = 0;
        for (int i = 0; i < kInputs; ++i) expected += weight(row, i) * input_of(token, i);
        EXPECT_EQ(sums[static_cast<std::size_t>(row * kTokens + token)], expected);
      }
    }
  }
}

// What lanes read together lies in different banks: eight bytes each of 16 lanes, 16 bytes each of
// eight, and the scales of all rows.
TEST(WarpProducts, LanesReadDifferentBanks) {
  for (int quarter = 0; quarter < 4; ++quarter) {
    for (int second = 0; second < 2; ++second) {
      for (int first = 0; first < 32; first += 16) {
        std::set<int> eights;
        for (int lane = first; lane < first + 16; ++lane) {
          eights.insert(word_place(lane_row(lane, second), quarter, lane % 4) % 128 / 8);
        }
        EXPECT_EQ(eights.size(), 16);
      }
      for (int first = 0; first < 32; first += 8) {
        std::set<int> pieces;
        for (int lane = first; lane < first + 8; ++lane) {
          pieces.insert(half_place(lane / 4, lane % 4, second) % 128 / 16);
        }
        EXPECT_EQ(pieces.size(), 8);
      }
      std::set<int> scales;
      for (int lane = 0; lane < 32; lane += 4) scales.insert(lane_row(lane, second) * 4 % 32);
      EXPECT_EQ(scales.size(), 8);
    }
  }
}

// Of a weight that lies transposed each product of a warp reads four matrices of eight inputs and
// 16 bytes, as the copy engine has left them: in different places, and each matrix in all banks.
template <int kGroups>
void expect_matrices_apart() {
  for (int piece = 0; piece < 2 * kGroups; ++piece) {
    for (int matrix = 0; matrix < 32; matrix += 8) {
      std::set<int> pieces;
      for (int input = matrix; input < matrix + 8; ++input) {
        pieces.insert(transposed_place<kGroups>(input, piece) % 128 / 16);
      }
      EXPECT_EQ(pieces.size(), 8);
    }
  }
  std::set<int> places;
  for (int input = 0; input < 256; ++input) {
    for (int piece = 0; piece < 2 * kGroups; ++piece) {
      places.insert(transposed_place<kGroups>(input, piece));
    }
  }
  EXPECT_EQ(places.size(), 256 * 2 * kGroups);
  EXPECT_EQ(*places.rbegin(), 256 * kGroups * kTransposedRowBytes - 16);
}

TEST(TransposedWeights, LanesReadDifferentBanks) {
  expect_matrices_apart<1>();
  expect_matrices_apart<2>();
  expect_matrices_apart<4>();
}

}  // namespace
}  // namespace nf4bench::kernels::cuda
