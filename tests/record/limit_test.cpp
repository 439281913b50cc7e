// What limits a kernel with these counters.

#include "record/counters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

using record::Counters;
using record::Judgement;
using record::Limit;
using record::limit_of;
using testing::HasSubstr;

// A kernel of 100 us that keeps nothing busy, and whose warps wait for nothing in particular.
Counters idle() {
  Counters c;
  c.kernels = 1;
  c.seconds = 100e-6;
  c.dram_fraction = 0.3;
  c.dram_bytes_read = 20'000'000;
  c.l2_fraction = 0.25;
  c.l2_hit_fraction = 0.5;
  c.shared_conflicts = 0;
  c.shared_wavefronts = 1'000'000;
  c.issue_fraction = 0.2;
  c.tensor_fraction = 0.0;
  c.alu_fraction = 0.15;
  c.warps_fraction = 0.4;
  c.instructions = 4'000'000;
  c.stalls = {{"barrier", 3.0}, {"wait", 2.5}, {"long_scoreboard", 2.5}};
  c.issue_cycles = 10.0;
  return c;
}

constexpr record::CountedCall kCall = {
    .bytes_read = 10'000'000, .elements = 16'000'000, .time_s = 101e-6};

struct Case {
  const char* name;
  void (*change)(Counters& counters);
  Limit limit;
  const char* words;
};

TEST(Limit, FollowsFromTheCounters) {
  const std::vector<Case> cases = {
      {"memory", [](Counters& c) { c.dram_fraction = 0.91; }, Limit::kDram,
       "DRAM limits it: 91 % of its peak, and it reads 2.00 times the bytes that the call needs"},
      {"memory, half", [](Counters& c) { c.dram_fraction = 0.65; }, Limit::kDram,
       "DRAM is what it uses most: 65 %"},
      {"memory and L2",
       [](Counters& c) {
         c.dram_fraction = 0.85;
         c.l2_fraction = 0.8;
       },
       Limit::kDram, "; near to it: L2 80 %"},
      {"L2", [](Counters& c) { c.l2_fraction = 0.88; }, Limit::kL2,
       "L2 limits it: 88 % of its peak, and finds 50 % of its sectors there"},
      {"tensor pipe", [](Counters& c) { c.tensor_fraction = 0.82; }, Limit::kTensor,
       "the tensor pipe limits it: 82 %"},
      {"ALU", [](Counters& c) { c.alu_fraction = 0.93; }, Limit::kAlu,
       "the ALU pipe limits it: 93 % of its peak, with 8 instructions an element"},
      {"issue", [](Counters& c) { c.issue_fraction = 0.86; }, Limit::kIssue,
       "issuing instructions limits it: 86 % of its peak, with 8 instructions an element"},
      {"conflicts",
       [](Counters& c) {
         c.shared_conflicts = 620'000;
         c.stalls.insert(c.stalls.begin(), {"short_scoreboard", 6.0});
       },
       Limit::kShared,
       "conflicts in shared memory limit it: 62 % of its wavefronts, and a warp waits 6 of 10 "
       "cycles for what it loads from shared memory (short_scoreboard)"},
      {"conflicts explain a unit that is half busy",
       [](Counters& c) {
         c.alu_fraction = 0.65;
         c.shared_conflicts = 300'000;
         c.stalls = {{"mio_throttle", 5.0}};
       },
       Limit::kShared, "mio_throttle"},
      {"conflicts that nothing waits for", [](Counters& c) { c.shared_conflicts = 620'000; },
       Limit::kUnknown, "nothing conclusive"},
      {"few conflicts",
       [](Counters& c) {
         c.shared_conflicts = 100'000;
         c.stalls = {{"short_scoreboard", 6.0}};
       },
       Limit::kLatency, "short_scoreboard"},
      {"latency",
       [](Counters& c) {
         c.stalls = {{"long_scoreboard", 7.5}};
       },
       Limit::kLatency,
       "latency limits it: nothing is busier than DRAM (30 %), and a warp waits 7.5 of 10 cycles "
       "for what it loads from global memory (long_scoreboard), with 40 % of the warps"},
      {"a short kernel", [](Counters& c) { c.seconds = 2.3e-6; }, Limit::kLaunch,
       "launches limit it: its kernel takes 2.3 us"},
      {"short kernels",
       [](Counters& c) {
         c.kernels = 5;
         c.seconds = 15e-6;
       },
       Limit::kLaunch, "its 5 kernels take, on average, 3 us"},
      {"a call that is mostly launching", [](Counters& c) { c.seconds = 40e-6; }, Limit::kLaunch,
       "of 101 us a call its kernels work 40 us"},
      {"a short kernel that keeps memory busy",
       [](Counters& c) {
         c.seconds = 3e-6;
         c.dram_fraction = 0.85;
       },
       Limit::kDram, "DRAM limits it"},
      {"nothing", [](Counters&) {}, Limit::kUnknown,
       "nothing conclusive: no unit is busier than DRAM (30 %), and no reason to wait stands out"},
      {"no unit was counted",
       [](Counters& c) {
         c = Counters();
         c.kernels = 1;
         c.seconds = 50.5e-6;
       },
       Limit::kUnknown, "nothing conclusive: no unit of the GPU was counted"},
      {"half of the units were not",
       [](Counters& c) {
         c.dram_fraction.reset();
         c.stalls = {{"long_scoreboard", 7.5}};
       },
       Limit::kUnknown, "nothing conclusive: no unit is busier than L2 (25 %)"},
      {"no stalls were",
       [](Counters& c) {
         c.stalls.clear();
         c.issue_cycles.reset();
       },
       Limit::kUnknown, "nothing conclusive"}};
  for (const Case& each : cases) {
    Counters counters = idle();
    each.change(counters);
    const Judgement judgement = limit_of(counters, kCall);
    EXPECT_EQ(judgement.limit, each.limit) << each.name << ": " << judgement.text;
    EXPECT_THAT(judgement.text, HasSubstr(each.words)) << each.name;
  }
}

TEST(Limit, ThresholdsBelongToTheBusySide) {
  Counters counters = idle();
  counters.dram_fraction = record::kHalfBusy;
  EXPECT_THAT(limit_of(counters, kCall).text, HasSubstr("uses most"));
  counters.dram_fraction = record::kBusy;
  EXPECT_THAT(limit_of(counters, kCall).text, HasSubstr("limits it"));
}

std::string sentence_of(const record::Launch& launch) {
  Counters counters = idle();
  counters.stalls = {{"long_scoreboard", 7.5}};
  counters.launch = launch;
  return limit_of(counters, kCall).text;
}

TEST(Limit, OfLatencySaysWhatWarpsAreShortOf) {
  const record::Launch launch = {.block = 32,
                                 .registers = 128,
                                 .shared_bytes = 49'152,
                                 .occupancy = 0.25,
                                 .occupancy_limit = record::Resource::kRegisters};
  EXPECT_THAT(sentence_of(launch), HasSubstr("with 40 % of the warps that there is room for: its "
                                             "128 registers a thread leave room for 25 % of a "
                                             "multiprocessor's warps"));
  record::Launch other = launch;
  other.occupancy_limit = record::Resource::kShared;
  EXPECT_THAT(sentence_of(other), HasSubstr(": its 49152 bytes of shared memory a block leave"));
  other.occupancy_limit = record::Resource::kBlocks;
  EXPECT_THAT(sentence_of(other), HasSubstr(": its blocks of no more than 32 threads leave room"));
  EXPECT_THAT(sentence_of({.waves = 0.484, .occupancy = 1.0}),
              HasSubstr("room for: its grid is 0.48 waves"));
}

TEST(Limit, OfLatencyBlamesNothingThatLeavesRoomOrIsNotKnown) {
  const record::Launch launch = {
      .registers = 128, .occupancy = 0.25, .occupancy_limit = record::Resource::kRegisters};
  for (void (*const change)(record::Launch&) :
       {+[](record::Launch& l) { l.occupancy = 0.75; },
        +[](record::Launch& l) { l.occupancy_limit = record::Resource::kWarps; },
        +[](record::Launch& l) { l.occupancy_limit = record::Resource::kShared; },
        +[](record::Launch& l) { l.registers.reset(); },
        +[](record::Launch& l) { l.occupancy.reset(); },
        +[](record::Launch& l) {
          l.occupancy = 1.0;
          l.waves = 1.0;
        }}) {
    record::Launch other = launch;
    change(other);
    EXPECT_TRUE(sentence_of(other).ends_with("with 40 % of the warps that there is room for"));
  }
}

TEST(Limit, ALaunchIsToldByWhatIsKnownOfIt) {
  record::Launch launch = {.grid = 4096, .block = 256, .registers = 32, .shared_bytes = 0};
  EXPECT_EQ(record::text_of(launch), "32 registers, 4096 blocks of 256 threads");
  launch.grid.reset();
  launch.shared_bytes = 1024;
  launch.waves = 3.879;
  launch.occupancy = 1.0;
  EXPECT_EQ(record::text_of(launch),
            "32 registers, 1024 bytes of shared memory, 3.88 waves, 100 % of a multiprocessor's "
            "warps");
  EXPECT_EQ(record::text_of(record::Launch{}), "");
}

// What is not known of the call is left out of the sentence.
TEST(Limit, NeedsNothingButCounters) {
  Counters counters = idle();
  counters.dram_fraction = 0.9;
  EXPECT_EQ(limit_of(counters, {}).text, "DRAM limits it: 90 % of its peak");
  counters.dram_fraction = 0.1;
  counters.alu_fraction = 0.9;
  EXPECT_EQ(limit_of(counters, {}).text, "the ALU pipe limits it: 90 % of its peak");
}

}  // namespace
}  // namespace nf4bench
