// "nf4bench run --why" on a machine that pretends to have GPUs, under an ncu that is a script. It
// runs the program that it is to look at, and prints what the test says.

#include "cli/outcome.hpp"
#include "faults/short_run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kTable[] =
    R"csv(==PROF== Connected to process 4711 (/usr/bin/nf4bench)
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpu__time_duration.sum","dram__throughput.avg.pct_of_peak_sustained_elapsed","smsp__inst_executed.sum","launch__grid_size","launch__block_size","launch__registers_per_thread","launch__waves_per_multiprocessor","sm__maximum_warps_per_active_cycle_pct"
"","","","","","","","","","","","nsecond","%","inst","","","register/thread","",""
"0","4711","nf4bench","127.0.0.1","decode(Job)","1","7","(256, 1, 1)","(4096, 1, 1)","0","9.0","36,520","91","n/a","4,096","256","32","3.88","n/a"
)csv";

// `then` is what it does once its program has ended.
class Why : public testing::Test {
 protected:
  void put_ncu(const std::string& then) const {
    std::ofstream(scratch_.path("table")) << kTable;
    std::ofstream(scratch_.path("ncu"))
        << "#!/bin/bash\nfolder=$(dirname \"$0\")\n"
        << "echo \"$LC_ALL $*\" >> \"$folder/asked\"\nmetrics=$*\n"
        << "while [[ $1 == -* ]]; do\n  [[ $1 == --log-file ]] && log=$2\n"
        << "  [[ $1 == --csv ]] || shift\n  shift\ndone\n"
        << "\"$@\"\ncode=$?\n(( code == 0 )) || echo $code >> \"$folder/failed\"\n"
        << then << '\n';
    std::filesystem::permissions(scratch_.path("ncu"), std::filesystem::perms::owner_all);
  }

  Outcome run(const Words& more = {}) const {
    Words all = {"--device", "cuda:0", "--why", "--shape", "64x64"};
    Command made;
    made.arguments = Words{NF4BENCH_FAKE_GPUS} + short_run(report_path(), all + more);
    made.environment.push_back("NF4BENCH_TEST_GPUS=sound");
    made.environment.push_back("PATH=" + scratch_.path("") + ":" + std::getenv("PATH"));
    return Process(made).wait();
  }

  json rows() const { return report_at(report_path()).at("measurements"); }
  std::vector<std::string> warnings() const { return report_at(report_path()).at("warnings"); }
  std::string report_path() const { return scratch_.path("report.json"); }
  std::string asked() const { return read_file(scratch_.path("asked")); }
  bool child_has_failed() const { return std::filesystem::exists(scratch_.path("failed")); }

  ScratchFolder scratch_;
};

TEST_F(Why, GivesEachVariantItsCountersAndASentence) {
  put_ncu("cat \"$folder/table\" > \"$log\"");
  const Outcome outcome = run({"--variant", "simd,multi_pass"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(child_has_failed());
  ASSERT_EQ(rows().size(), 2u);
  for (const json& row : rows()) {
    const json& counters = row.at("counters");
    EXPECT_EQ(counters.at("kernels"), 1);
    EXPECT_EQ(counters.at("dram_fraction"), 0.91);
    EXPECT_TRUE(counters.at("instructions").is_null());
    EXPECT_EQ(counters.at("launch").at("grid"), 4096);
    EXPECT_EQ(counters.at("launch").at("registers"), 32);
    EXPECT_TRUE(counters.at("launch").at("occupancy").is_null());
    EXPECT_EQ(counters.at("limit"), "dram");
    EXPECT_EQ(counters.at("judgement"), "DRAM limits it: 91 % of its peak");
    EXPECT_TRUE(counters.at("unavailable").is_null());
  }
  EXPECT_THAT(outcome.out, HasSubstr("why: simd at t0"));
  EXPECT_THAT(outcome.out, HasSubstr("It has 32 registers,"));
}

TEST_F(Why, IsAskedOfCallsThatWereTimedAndTakesNothingElse) {
  put_ncu("cat \"$folder/table\" > \"$log\"");
  EXPECT_THAT(run({"--cache", "hot,cold", "--operation", "dequantize,matmul", "--tokens", "1,8",
                   "--shape", "128x64"}),
              Ends(0));
  EXPECT_FALSE(child_has_failed());
  int counted = 0;
  for (const json& row : rows()) {
    if (!row.contains("counters")) continue;
    ++counted;
    EXPECT_EQ(row.at("cache"), "hot");
    EXPECT_THAT(row.value("tokens", json()), testing::AnyOf(json(), json(1)));
  }
  EXPECT_EQ(counted, 4) << "each operation on each geometry, in the first cell";
  EXPECT_THAT(asked(), AllOf(HasSubstr("C --csv --page raw"),
                             HasSubstr("--clock-control none --cache-control none "
                                       "--profile-from-start off"),
                             HasSubstr(",dram__bytes_read.sum,"), Not(HasSubstr("all --profile"))));
}

TEST_F(Why, ACallThatFindsNothingInCachesIsCountedSo) {
  put_ncu("cat \"$folder/table\" > \"$log\"");
  EXPECT_THAT(run({"--cache", "cold"}), Ends(0));
  EXPECT_THAT(asked(), HasSubstr("--cache-control all"));
}

TEST_F(Why, IsNotAskedUnlessSomebodyWantsToKnow) {
  put_ncu("cat \"$folder/table\" > \"$log\"");
  EXPECT_THAT(nf4bench(short_run(report_path(), {"--shape", "64x64"})), Ends(0));
  EXPECT_FALSE(rows().at(0).contains("counters"));
  EXPECT_FALSE(std::filesystem::exists(scratch_.path("asked")));
}

// Each of them costs a start, and no more is asked of it later.
TEST_F(Why, MetricsThatTheGpuRefusesAreLeftOut) {
  put_ncu(R"(if [[ $metrics == *stalled_gmma* ]]; then
  echo '==ERROR== Failed to find metric regex:^smsp__average_warps_issue_stalled_gmma_per_issue_active\.ratio' > "$log"
else cat "$folder/table" > "$log"; fi)");
  EXPECT_THAT(run({"--variant", "simd,multi_pass"}), Ends(0));
  for (const json& row : rows()) EXPECT_EQ(row.at("counters").at("kernels"), 1);
  const std::string all = asked();
  EXPECT_EQ(std::ranges::count(all, '\n'), 3);
}

// The times stand, and the reason stands once.
TEST_F(Why, WithoutPermissionSaysWhoMustGiveIt) {
  put_ncu("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' > \"$log\"");
  const Outcome outcome = run({"--variant", "simd,multi_pass"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const json& row : rows()) {
    EXPECT_EQ(row.at("status"), "passed");
    EXPECT_GT(row.at("time_s").at("median"), 0.0);
    EXPECT_THAT(row.at("counters").at("unavailable").get<std::string>(),
                HasSubstr("administrator"));
    EXPECT_EQ(row.at("counters").at("kernels"), 0);
  }
  EXPECT_THAT(warnings(), Contains(HasSubstr("nothing was counted: this user may not read")));
  const std::string all = asked();
  EXPECT_EQ(std::ranges::count(all, '\n'), 1) << "the second would fare no better";
}

TEST_F(Why, AVariantThatFailsThereIsOneAmongOthers) {
  put_ncu(R"(if (( $(wc -l < "$folder/asked") == 1 )); then
  echo '==WARNING== No kernels were profiled.' > "$log"
else cat "$folder/table" > "$log"; fi)");
  const Outcome outcome = run({"--variant", "simd,multi_pass"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(rows().at(0).at("counters").at("unavailable").get<std::string>(),
              HasSubstr("saw none of its kernels"));
  EXPECT_EQ(rows().at(1).at("counters").at("kernels"), 1);
  EXPECT_THAT(warnings(), Not(Contains(HasSubstr("nothing was counted"))));
  EXPECT_THAT(outcome.out, HasSubstr("ncu saw none of its kernels"));
}

TEST_F(Why, WhatIsNoTableIsQuoted) {
  put_ncu("echo 'a table in the language of a newer world' > \"$log\"");
  EXPECT_THAT(run(), Ends(0));
  EXPECT_THAT(warnings(), Contains(HasSubstr("but: a table in the language of a newer world")));
}

// Whatever a kernel writes: it is the profiler's log that counts.
TEST_F(Why, ATableOnStdoutIsNotThatOfTheProfiler) {
  put_ncu("cat \"$folder/table\"; echo '==WARNING== No kernels were profiled.' > \"$log\"");
  EXPECT_THAT(run(), Ends(0));
  EXPECT_EQ(rows().at(0).at("counters").at("kernels"), 0);
  EXPECT_THAT(rows().at(0).at("counters").at("unavailable").get<std::string>(),
              HasSubstr("No kernels were profiled"));
}

TEST_F(Why, WithoutNcuSaysWhereItIsFrom) {
  if (std::filesystem::exists("/usr/local/cuda/bin/ncu")) GTEST_SKIP();
  const std::string before = std::getenv("PATH");
  setenv("PATH", "/usr/bin:/bin", 1);
  EXPECT_THAT(run(), Ends(0));
  setenv("PATH", before.c_str(), 1);
  EXPECT_THAT(warnings(), Contains(HasSubstr("ncu of Nsight Compute is neither on PATH nor in")));
  EXPECT_EQ(rows().at(0).at("status"), "passed");
}

TEST_F(Why, OnTheCpuIsRefusedOrExplained) {
  EXPECT_THAT(nf4bench(short_run(report_path(), {"--shape", "64x64", "--why"})),
              Ends(2, HasSubstr("counters are read on GPUs")));
  EXPECT_THAT(nf4bench({"try", "mine.cpp", "--why"}),
              Ends(2, HasSubstr("counters are read on GPUs")));
  Command made =
      nf4bench_command(short_run(report_path(), {"--shape", "64x64", "--why", "--device", "auto"}));
  made.environment.push_back("CUDA_VISIBLE_DEVICES=");
  EXPECT_THAT(Process(made).wait(), Ends(0));
  EXPECT_THAT(warnings(), Contains(HasSubstr("counters are read on GPUs, and this is the CPU")));
  EXPECT_EQ(rows().at(0).at("status"), "passed");
}

TEST_F(Why, OnSeveralGpusIsRefused) {
  EXPECT_THAT(nf4bench({"run", "--shape", "64x64", "--why", "--device", "all"}),
              Ends(2, HasSubstr("would disturb the others")));
}

}  // namespace
}  // namespace nf4bench::test
