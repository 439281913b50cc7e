// What is advised to the author of a kernel, and from which facts.

#include "trying/hints.hpp"

#include "source_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace nf4bench {
namespace {

using record::Resource;
using trying::TriedCell;

constexpr int kMultiprocessors = 132;

// A kernel of which nothing is to be said.
TriedCell sound() {
  TriedCell cell;
  peer::KernelFacts& kernel = cell.kernel.emplace();
  kernel.registers = 32;
  kernel.launch = {.grid = 4096,
                   .block = 256,
                   .registers = 32,
                   .shared_bytes = 0,
                   .waves = 3.88,
                   .occupancy = 1.0,
                   .occupancy_limit = Resource::kWarps};
  return cell;
}

void add_counters(TriedCell& cell, record::Limit limit) {
  record::Counters& counters = cell.counters.emplace();
  counters.kernels = 1;
  counters.shared_conflicts = 100;
  counters.shared_wavefronts = 1000;
  counters.limit = limit;
}

std::string hint_of(void (*change)(TriedCell& cell)) {
  TriedCell cell = sound();
  change(cell);
  return trying::hint_for(cell, kMultiprocessors);
}

TEST(Hints, AreNoneWhereNothingIsWrongOrKnown) {
  EXPECT_EQ(hint_of([](TriedCell&) {}), "");
  EXPECT_EQ(hint_of([](TriedCell& c) { add_counters(c, record::Limit::kLatency); }), "");
  EXPECT_EQ(hint_of([](TriedCell& c) { c.kernel.reset(); }), "");
  EXPECT_EQ(hint_of([](TriedCell& c) { c.kernel->launch.reset(); }), "");
  EXPECT_EQ(hint_of([](TriedCell& c) { c.kernel->launch = record::Launch{}; }), "");
}

TEST(Hints, TellOfSpills) {
  EXPECT_EQ(hint_of([](TriedCell& c) { c.kernel->spill_bytes = 48; }),
            "it spills 48 bytes a thread to memory: let a thread hold fewer values at a time, or "
            "raise its limit of registers");
}

TEST(Hints, OfSeveralKernelsNameTheOneThatSpillsMost) {
  EXPECT_EQ(hint_of([](TriedCell& c) {
              c.kernel.reset();
              c.kernels = {{.name = "some", .spill_bytes = 4}, {.name = "most", .spill_bytes = 48}};
            }),
            "most spills 48 bytes a thread to memory: let a thread hold fewer values at a time, or "
            "raise its limit of registers");
}

TEST(Hints, TellOfLanesThatHaveNothingToDo) {
  EXPECT_EQ(hint_of([](TriedCell& c) { c.kernel->launch->block = 100; }),
            "of the last warp of its blocks of 100 threads 28 have nothing to do: take a multiple "
            "of 32");
}

TEST(Hints, TellOfMultiprocessorsWithoutABlock) {
  EXPECT_EQ(hint_of([](TriedCell& c) { c.kernel->launch->grid = 64; }),
            "68 of 132 multiprocessors have none of its blocks, which are 64: let a block do less, "
            "and have more of them");
  EXPECT_EQ(hint_of([](TriedCell& c) { c.kernel->launch->grid = kMultiprocessors; }), "");
}

TEST(Hints, TellWhatWarpsAreShortOf) {
  EXPECT_EQ(hint_of([](TriedCell& c) {
              c.kernel->launch->registers = 168;
              c.kernel->launch->occupancy = 0.1875;
              c.kernel->launch->occupancy_limit = Resource::kRegisters;
            }),
            "its 168 registers a thread leave room for 19 % of a multiprocessor's warps: less of "
            "that helps where latency limits it, which --why would tell");
  EXPECT_EQ(hint_of([](TriedCell& c) {
              c.kernel->launch->shared_bytes = 114'000;
              c.kernel->launch->occupancy = 0.25;
              c.kernel->launch->occupancy_limit = Resource::kShared;
            }),
            "its 114000 bytes of shared memory a block leave room for 25 % of a multiprocessor's "
            "warps: less of that helps where latency limits it, which --why would tell");
}

// The counters are also of kernels of which nothing else is known.
TEST(Hints, TellOfFewWarpsWhereTheyWereCountedOnlyIfLatencyLimits) {
  const auto counted = [](TriedCell& c) {
    c.kernel.reset();
    add_counters(c, record::Limit::kLatency);
    c.counters->launch = {
        .registers = 168, .occupancy = 0.1875, .occupancy_limit = Resource::kRegisters};
  };
  EXPECT_EQ(hint_of(counted),
            "its 168 registers a thread leave room for 19 % of a multiprocessor's warps: with less "
            "of that, more of them hide what others wait for");
  TriedCell cell = sound();
  counted(cell);
  cell.counters->limit = record::Limit::kDram;
  EXPECT_EQ(trying::hint_for(cell, kMultiprocessors), "");
}

TEST(Hints, TellOfConflictsOverBanks) {
  EXPECT_EQ(hint_of([](TriedCell& c) {
              add_counters(c, record::Limit::kShared);
              c.counters->shared_conflicts = 620;
            }),
            "62 % of its wavefronts of shared memory are conflicts over banks: pad its rows, or "
            "permute their columns, so that lanes of a warp take different banks");
}

// A kernel that takes so many an element, far from the rate of a copy.
TriedCell with_instructions(double issued) {
  TriedCell cell = sound();
  cell.kernel->instructions.emplace().issued = issued;
  cell.fraction_of_copy = 0.4;
  return cell;
}

TEST(Hints, TellOfFarMoreInstructionsThanOurs) {
  EXPECT_EQ(trying::hint_for(with_instructions(23.46), kMultiprocessors),
            "it takes 23.5 instructions an element, and fused no more than 6: look several codes "
            "up at once, and store 16 bytes at a time, which helps where instructions limit it, "
            "as --why would tell");
  EXPECT_EQ(trying::hint_for(with_instructions(17.9), kMultiprocessors), "");
}

TEST(Hints, TellOfInstructionsOnlyWhereMemoryDoesNotLimit) {
  TriedCell cell = with_instructions(30.0);
  cell.fraction_of_copy = 0.85;
  EXPECT_EQ(trying::hint_for(cell, kMultiprocessors), "");
  add_counters(cell, record::Limit::kDram);
  cell.fraction_of_copy = 0.4;
  EXPECT_EQ(trying::hint_for(cell, kMultiprocessors), "");
  for (const record::Limit limit : {record::Limit::kIssue, record::Limit::kAlu}) {
    cell.counters->limit = limit;
    EXPECT_EQ(trying::hint_for(cell, kMultiprocessors),
              "it takes 30.0 instructions an element, and fused no more than 6: look several codes "
              "up at once, and store 16 bytes at a time");
  }
}

// The rules of fused alone are those of the kernels that it chooses.
TEST(Hints, KnowTheBudgetOfOurs) {
  std::ifstream file(NF4BENCH_SOURCE_DIR "/tests/gpu/sass_budget.json");
  const nlohmann::json budget = nlohmann::json::parse(file);
  int rules = 0;
  for (const nlohmann::json& rule : budget.at("rules")) {
    if (!rule.at("match").get<std::string>().starts_with("^fused ")) continue;
    EXPECT_EQ(rule.at("instructions_per_element"), trying::kInstructionsOfFused);
    ++rules;
  }
  EXPECT_EQ(rules, 3);
}

TEST(Hints, StandBesideEachOther) {
  const std::string hint = hint_of([](TriedCell& c) {
    c.kernel->launch->block = 100;
    c.kernel->launch->grid = 64;
  });
  EXPECT_THAT(hint, testing::MatchesRegex("of the last warp .* of 32; 68 of 132 multipro.*"));
}

}  // namespace
}  // namespace nf4bench
