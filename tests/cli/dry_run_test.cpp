#include "cli/process.hpp"
#include "source_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Outcome dry_run(const std::vector<std::string>& more) {
  return nf4bench(Words{"run", "--device", "cpu", "--dry-run"} + more);
}

std::string plan_of(const std::vector<std::string>& more) {
  const Outcome outcome = dry_run(more);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  return outcome.out;
}

// The number behind `label` in a plan.
double number_after(const std::string& plan, const std::string& label) {
  std::smatch match;
  EXPECT_TRUE(std::regex_search(plan, match, std::regex("\n" + label + " +([0-9.]+)"))) << plan;
  return std::stod(match[1].str());
}

TEST(DryRun, ShowsEveryGeometryWithHowOftenItOccurs) {
  const std::string plan = plan_of({"--preset", "llama-3.1-8b"});
  EXPECT_THAT(plan, ContainsRegex("t0 +4096x4096 +nested/64 +bfloat16 +64 "));
  EXPECT_THAT(plan, ContainsRegex("t3 +4096x14336 +nested/64 +bfloat16 +32 "));
}

TEST(DryRun, ShowsDeviceVariantsTypesCachesAndLaunches) {
  const std::string plan = plan_of({"--shape", "64x64", "--variant", "si*", "--dtype",
                                    "float16,float32", "--cache", "hot,cold"});
  EXPECT_THAT(plan, ContainsRegex("\ndevice +cpu: "));
  EXPECT_THAT(plan, ContainsRegex("\nvariants +multi_pass \\(baseline\\), simd\n"));
  EXPECT_THAT(plan, HasSubstr("float16, float32"));
  EXPECT_THAT(plan, ContainsRegex("\ncaches +hot, cold\n"));
  EXPECT_THAT(plan, ContainsRegex("\nlaunches +stream\n"));
  EXPECT_EQ(number_after(plan, "measurements"), 2 * 2 * 2);
}

TEST(DryRun, CountsTheMeasurementsAndComparisonsThatTheRunMakes) {
  const std::vector<std::string> words = {sample("llama_layer.safetensors"),
                                          "--cache",
                                          "hot",
                                          "--dtype",
                                          "float16,float32",
                                          "--no-ceilings",
                                          "--max-time",
                                          "0.01",
                                          "--min-samples",
                                          "3"};
  const std::string plan = plan_of(words);
  std::vector<std::string> real = {"run", "--device", "cpu", "--json", "-", "--quiet"};
  real.insert(real.end(), words.begin(), words.end());
  const json report = json::parse(nf4bench(real).out);
  EXPECT_EQ(number_after(plan, "measurements"), report.at("measurements").size());
  EXPECT_EQ(number_after(plan, "comparisons"),
            2 * report.at("summary").at("tensors_verified").get<int>());
}

TEST(DryRun, TimeOfTheRunLiesInTheEstimate) {
  const std::vector<std::string> words = {"--shape",  "512x512",    "--shape", "256x512", "--cache",
                                          "cold,hot", "--max-time", "0.2",     "--quiet"};
  std::smatch match;
  const std::string plan = plan_of(words);
  const std::regex line("\ntime +([0-9.]+) s at least, about ([0-9.]+) s at most\n");
  ASSERT_TRUE(std::regex_search(plan, match, line)) << plan;
  std::vector<std::string> real = {"run", "--device", "cpu"};
  real.insert(real.end(), words.begin(), words.end());
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(nf4bench(real).exit_code, 0);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_GE(elapsed.count(), std::stod(match[1].str()));
  EXPECT_LE(elapsed.count(), std::stod(match[2].str()));
}

TEST(DryRun, MoreTimePerMeasurementMakesTheEstimateLonger) {
  const auto most = [](const std::string& max_time) {
    std::smatch match;
    const std::string plan = plan_of({"--shape", "64x64", "--variant", "simd", "--baseline", "none",
                                      "--cache", "hot", "--no-ceilings", "--max-time", max_time});
    const std::regex words("about (?:([0-9]+) min )?([0-9.]+) s at most");
    EXPECT_TRUE(std::regex_search(plan, match, words)) << plan;
    const double minutes = match[1].matched ? std::stod(match[1].str()) : 0.0;
    return 60.0 * minutes + std::stod(match[2].str());
  };
  EXPECT_NEAR(most("60") - most("10"), 50.0, 1.0);
}

TEST(DryRun, MemoryCountsTheBuffersOfColdSamples) {
  const auto memory = [](const std::string& cache) {
    return plan_of({"--shape", "4096x4096", "--cache", cache});
  };
  // Packed codes, absmax codes and bfloat16 output of 2^24 elements are 40.3 MiB.
  EXPECT_THAT(memory("hot"), ContainsRegex(" 1 +40\\.3 MiB +4096x4096"));
  EXPECT_THAT(memory("cold"), Not(ContainsRegex(" 1 +40\\.3 MiB +4096x4096")));
  // Of tiny ones there are not so many as a rotation asks for.
  EXPECT_THAT(plan_of({"--shape", "1x1"}), Not(HasSubstr("GiB")));
}

TEST(DryRun, WritesNoReport) {
  const ScratchFolder scratch;
  plan_of({"--shape", "64x64", "--json", scratch.path("report.json")});
  EXPECT_FALSE(std::filesystem::exists(scratch.path("report.json")));
  EXPECT_THAT(plan_of({"--shape", "64x64", "--json", "-"}), Not(HasSubstr("{")));
}

TEST(DryRun, FindsWrongInputsAndOptionsAsTheRunDoes) {
  const auto fails_alike = [](const std::vector<std::string>& words) {
    std::vector<std::string> real = {"run", "--device", "cpu"};
    real.insert(real.end(), words.begin(), words.end());
    const Outcome run = nf4bench(real);
    const Outcome dry = dry_run(words);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_EQ(dry.exit_code, run.exit_code);
    EXPECT_EQ(dry.err, run.err);
    EXPECT_THAT(dry.out, IsEmpty());
  };
  fails_alike({"/does/not/exist.safetensors"});
  fails_alike({std::string(NF4BENCH_SOURCE_DIR "/README.md")});
  fails_alike({"--shape", "64x64", "--variant", "smid"});
  fails_alike({"--shape", "64x64", "--launch", "graph"});
  fails_alike({sample("llama_layer.safetensors"), "--tensor", "no such"});
  fails_alike({});
}

}  // namespace
}  // namespace nf4bench::test
