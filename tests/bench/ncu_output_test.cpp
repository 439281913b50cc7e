// What "ncu --csv --page raw" prints, and what is made of it.

#include "bench/counting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace nf4bench {
namespace {

using bench::counters_in;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kFacts[] =
    R"("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC")";
constexpr char kNoUnits[] = R"("","","","","","","","","","","")";
constexpr char kKernel[] =
    R"csv("0","4711","nf4bench","127.0.0.1","void decode<int, 3>(Job, ""x"")","1","7","(256, 1, 1)","(4096, 1, 1)","0","9.0")csv";

// The table of one kernel, or several, with these columns behind those that all have.
std::string table(const std::string& names, const std::string& units,
                  const std::vector<std::string>& kernels) {
  std::string text =
      "==PROF== Connected to process 4711 (/usr/bin/nf4bench)\n"
      "==PROF== Profiling \"decode\" - 0: 0%....50%....100% - 9 passes\n"
      "==PROF== Disconnected from process 4711\n";
  text += kFacts + names + '\n' + kNoUnits + units + '\n';
  for (const std::string& kernel : kernels) text += kKernel + kernel + '\n';
  return text;
}

constexpr char kStall[] = "smsp__average_warps_issue_stalled_";
constexpr char kRatio[] = "_per_issue_active.ratio";

TEST(NcuOutput, EveryCounterHasItsPlace) {
  const auto c = counters_in(table(
      ",\"gpu__time_duration.sum\",\"dram__throughput.avg.pct_of_peak_sustained_elapsed\","
      "\"lts__throughput.avg.pct_of_peak_sustained_elapsed\",\"lts__t_sector_hit_rate.pct\","
      "\"sm__issue_active.avg.pct_of_peak_sustained_elapsed\","
      "\"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed\","
      "\"sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed\","
      "\"sm__warps_active.avg.pct_of_peak_sustained_active\",\"dram__bytes_read.sum\","
      "\"dram__bytes_write.sum\",\"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum\","
      "\"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum\",\"smsp__inst_executed.sum\"",
      ",\"nsecond\",\"%\",\"%\",\"%\",\"%\",\"%\",\"%\",\"%\",\"byte\",\"byte\",\"\",\"\",\"inst\"",
      {",\"36,520\",\"91.2\",\"40.5\",\"12.5\",\"33.5\",\"0\",\"25.25\",\"70\",\"17,039,360\","
       "\"1,024\",\"300\",\"1,200\",\"5,242,880\""}));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->kernels, 1);
  EXPECT_DOUBLE_EQ(*c->seconds, 36.52e-6);
  EXPECT_EQ(c->dram_fraction, 0.912);
  EXPECT_EQ(c->l2_fraction, 0.405);
  EXPECT_EQ(c->l2_hit_fraction, 0.125);
  EXPECT_EQ(c->issue_fraction, 0.335);
  EXPECT_EQ(c->tensor_fraction, 0.0);
  EXPECT_EQ(c->alu_fraction, 0.2525);
  EXPECT_EQ(c->warps_fraction, 0.7);
  EXPECT_EQ(c->dram_bytes_read, 17039360);
  EXPECT_EQ(c->dram_bytes_written, 1024);
  EXPECT_EQ(c->shared_conflicts, 300);
  EXPECT_EQ(c->shared_wavefronts, 1200);
  EXPECT_EQ(c->instructions, 5242880);
}

TEST(NcuOutput, EveryMetricThatIsReadIsAskedFor) {
  for (const char* const metric :
       {"gpu__time_duration.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sector_hit_rate.pct",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
        "sm__issue_active.avg.pct_of_peak_sustained_elapsed", "smsp__inst_executed.sum",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
        "launch__grid_size", "launch__registers_per_thread", "launch__waves_per_multiprocessor",
        "launch__shared_mem_per_block_dynamic", "launch__occupancy_limit_shared_mem",
        "sm__maximum_warps_per_active_cycle_pct"}) {
    EXPECT_THAT(bench::ncu_metrics(), Contains(metric));
  }
}

TEST(NcuOutput, UnitsAreThoseOfTheSecondRow) {
  struct Written {
    const char* unit;
    const char* value;
    double seconds;
  };
  for (const Written& each : {Written{"usecond", "36.52", 36.52e-6},
                              {"msecond", "1.5", 1.5e-3},
                              {"second", "2", 2.0},
                              {"ns", "36,520", 36.52e-6},
                              {"us", "1,036.5", 1036.5e-6}}) {
    const auto c =
        counters_in(table(",\"gpu__time_duration.sum\"", std::string(",\"") + each.unit + '"',
                          {std::string(",\"") + each.value + '"'}));
    ASSERT_TRUE(c) << each.unit;
    EXPECT_DOUBLE_EQ(*c->seconds, each.seconds) << each.unit;
  }
  EXPECT_EQ(
      counters_in(table(",\"dram__bytes_read.sum\"", ",\"Kbyte\"", {",\"640\""}))->dram_bytes_read,
      640'000);
  EXPECT_EQ(
      counters_in(table(",\"dram__bytes_read.sum\"", ",\"Gbyte\"", {",\"2.5\""}))->dram_bytes_read,
      2'500'000'000);
}

// Not zero: nobody has counted it.
TEST(NcuOutput, WhatAGpuDoesNotCountIsAbsent) {
  const auto c = counters_in(
      table(",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\",\"lts__t_sector_hit_rate.pct\","
            "\"smsp__inst_executed.sum\"",
            ",\"\",\"byte\",\"%\",\"furlong\"", {",\"n/a\",\"(!) nan\",\"50\",\"12\""}));
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->dram_bytes_read);
  EXPECT_FALSE(c->dram_bytes_written);
  EXPECT_FALSE(c->instructions) << "in a unit that nobody knows";
  EXPECT_FALSE(c->seconds) << "without a column";
  EXPECT_EQ(c->l2_hit_fraction, 0.5);
}

TEST(NcuOutput, OfSeveralKernelsCountsAreSumsAndSharesAreWeightedByTime) {
  const std::string names =
      ",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\","
      "\"dram__throughput.avg.pct_of_peak_sustained_elapsed\",\"smsp__inst_executed.sum\"";
  const auto c = counters_in(table(names, ",\"usecond\",\"Mbyte\",\"%\",\"inst\"",
                                   {",\"30\",\"2\",\"80\",\"7\"", ",\"10\",\"1\",\"40\",\"n/a\""}));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->kernels, 2);
  EXPECT_DOUBLE_EQ(*c->seconds, 40e-6);
  EXPECT_EQ(c->dram_bytes_read, 3'000'000);
  EXPECT_DOUBLE_EQ(*c->dram_fraction, 0.7);
  EXPECT_FALSE(c->instructions) << "of one kernel alone it would be too little";
}

TEST(NcuOutput, OldGpusHaveAnotherNameForTheTensorPipe) {
  const auto c =
      counters_in(table(",\"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed\","
                        "\"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed\"",
                        ",\"\",\"%\"", {",\"n/a\",\"64\""}));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->tensor_fraction, 0.64);
}

TEST(NcuOutput, TheLongestStallComesFirstAndIssuingIsNone) {
  std::string names;
  for (const char* const reason : {"barrier", "selected", "long_scoreboard", "membar"}) {
    names += std::string(",\"") + kStall + reason + kRatio + '"';
  }
  const auto c = counters_in(
      table(names, ",\"inst\",\"inst\",\"inst\",\"inst\"", {",\"2.5\",\"1\",\"8.5\",\"0\""}));
  ASSERT_TRUE(c);
  ASSERT_EQ(c->stalls.size(), 2u);
  EXPECT_EQ(c->stalls[0].reason, "long_scoreboard");
  EXPECT_EQ(c->stalls[0].cycles, 8.5);
  EXPECT_EQ(c->stalls[1].reason, "barrier");
  EXPECT_EQ(c->issue_cycles, 12.0);
}

constexpr char kLaunch[] =
    ",\"gpu__time_duration.sum\",\"launch__grid_size\",\"launch__block_size\","
    "\"launch__registers_per_thread\",\"launch__shared_mem_per_block_static\","
    "\"launch__shared_mem_per_block_dynamic\",\"launch__waves_per_multiprocessor\","
    "\"sm__maximum_warps_per_active_cycle_pct\",\"launch__occupancy_limit_warps\","
    "\"launch__occupancy_limit_blocks\",\"launch__occupancy_limit_registers\","
    "\"launch__occupancy_limit_shared_mem\"";
constexpr char kLaunchUnits[] =
    ",\"nsecond\",\"\",\"thread\",\"register/thread\",\"byte/block\",\"Kbyte/block\",\"\",\"%\","
    "\"block\",\"block\",\"block\",\"block\"";

TEST(NcuOutput, TheLaunchIsThatOfTheKernelThatTakesLongest) {
  const auto c = counters_in(table(kLaunch, kLaunchUnits,
                                   {",\"900\",\"1\",\"32\",\"16\",\"0\",\"0\",\"0.01\",\"100\","
                                    "\"64\",\"32\",\"128\",\"32\"",
                                    ",\"9,000\",\"56,792,576\",\"256\",\"128\",\"1,024\",\"16\","
                                    "\"215,123.4\",\"25\",\"8\",\"32\",\"2\",\"2\"",
                                    ",\"8,000\",\"2\",\"64\",\"17\",\"0\",\"0\",\"0.02\",\"100\","
                                    "\"64\",\"32\",\"128\",\"32\""}));
  ASSERT_TRUE(c && c->launch);
  EXPECT_EQ(c->launch->grid, 56'792'576);
  EXPECT_EQ(c->launch->block, 256);
  EXPECT_EQ(c->launch->registers, 128);
  EXPECT_EQ(c->launch->shared_bytes, 1024 + 16'000);
  EXPECT_EQ(c->launch->waves, 215'123.4);
  EXPECT_EQ(c->launch->occupancy, 0.25);
  EXPECT_EQ(c->launch->occupancy_limit, record::Resource::kRegisters);
}

TEST(NcuOutput, OfALaunchWhatIsNotToldIsAbsent) {
  const auto c = counters_in(table(kLaunch, kLaunchUnits,
                                   {",\"900\",\"n/a\",\"256\",\"32\",\"1,024\",\"n/a\",\"n/a\","
                                    "\"n/a\",\"8\",\"32\",\"2\",\"n/a\""}));
  ASSERT_TRUE(c && c->launch);
  EXPECT_EQ(c->launch->block, 256);
  EXPECT_FALSE(c->launch->grid);
  EXPECT_FALSE(c->launch->shared_bytes) << "a part of it would be too little";
  EXPECT_FALSE(c->launch->waves);
  EXPECT_FALSE(c->launch->occupancy);
  EXPECT_FALSE(c->launch->occupancy_limit) << "what was not told may be less";
}

TEST(NcuOutput, WhereAllRunOutTogetherItIsWarps) {
  const auto c = counters_in(table(kLaunch, kLaunchUnits,
                                   {",\"900\",\"9\",\"1,024\",\"32\",\"0\",\"0\",\"1\",\"100\","
                                    "\"2\",\"32\",\"2\",\"2\""}));
  EXPECT_EQ(c->launch->occupancy_limit, record::Resource::kWarps);
}

TEST(NcuOutput, WhatIsNoTableIsNone) {
  EXPECT_FALSE(counters_in(""));
  EXPECT_FALSE(counters_in("==ERROR== unrecognised option '--print-units'. Use --help\n"));
  EXPECT_FALSE(counters_in(table(",\"gpu__time_duration.sum\"", ",\"ns\"", {})));
  EXPECT_FALSE(counters_in("\"ID\",\"a\n\"\"\"\",,,\n"));
}

TEST(NcuOutput, AMetricThatIsRefusedIsFoundInTheErrorThatNamesIt) {
  const std::vector<std::string> metrics = {"dram__bytes_read.sum", "dram__bytes.sum",
                                            "smsp__inst_executed.sum"};
  EXPECT_THAT(bench::refused_metrics(
                  "==PROF== dram__bytes.sum\n"
                  "==ERROR== Failed to find metric regex:^dram__bytes_read\\.(sum|avg)$\n",
                  metrics),
              ElementsAre("dram__bytes_read.sum"));
  EXPECT_THAT(bench::refused_metrics("==ERROR== Failed to access the following 2 metrics: "
                                     "dram__bytes.sum, smsp__inst_executed.sum\n",
                                     metrics),
              ElementsAre("dram__bytes.sum", "smsp__inst_executed.sum"));
  EXPECT_THAT(bench::refused_metrics("==ERROR== The application returned an error\n", metrics),
              IsEmpty());
}

TEST(NcuOutput, EachFailureSaysWhatToDo) {
  const auto forbidden = bench::failure_in(
      "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
      "Performance Counters on the target device 0.\n");
  EXPECT_THAT(forbidden.reason, HasSubstr("administrator"));
  EXPECT_TRUE(forbidden.is_of_all);
  const auto taken =
      bench::failure_in("==ERROR== Profiling failed because a driver resource was unavailable.\n");
  EXPECT_THAT(taken.reason, HasSubstr("dcgmi"));
  EXPECT_TRUE(taken.is_of_all);
  const auto old = bench::failure_in("==ERROR== unrecognised option '--print-units'\n");
  EXPECT_THAT(old.reason, HasSubstr("unrecognised option '--print-units'"));
  EXPECT_THAT(old.reason, HasSubstr("newer Nsight Compute"));
  const auto own = bench::failure_in(
      "nf4bench: error: the GPU has fallen off the bus\n==WARNING== No kernels were profiled.\n");
  EXPECT_THAT(own.reason, HasSubstr("fallen off the bus"));
  EXPECT_FALSE(own.is_of_all);
}

}  // namespace
}  // namespace nf4bench
