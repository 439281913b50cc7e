// "nf4bench run --operation backward", from the command line to the report and the table.

#include "cli/npy_file.hpp"
#include "cli/outcome.hpp"
#include "source_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A short run of two variants that are everywhere.
Outcome run_backward(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"run",           "--device", "cpu",        "--no-ceilings",
                                        "--operation",   "backward", "--max-time", "0.01",
                                        "--cache",       "hot",      "--variant",  "reference,simd",
                                        "--min-samples", "3",        "--baseline", "reference"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return nf4bench(arguments);
}

json report_of(std::vector<std::string> more) {
  more.insert(more.end(), {"--json", "-", "--quiet"});
  return silent_json_of(run_backward(more));
}

TEST(Backward, MultipliesRowsOfTheLayersOutputsWithItsWeight) {
  const json report = report_of({"--shape", "96x160", "--tokens", "1,5"});
  EXPECT_EQ(report.at("settings").at("operations"),
            json::parse(R"([{"name": "backward", "baseline": "reference"}])"));
  ASSERT_EQ(report.at("tensors").size(), 1u);
  EXPECT_EQ(report.at("tensors")[0].at("shape"), json({96, 160}));
  ASSERT_EQ(report.at("measurements").size(), 2u * 2u);
  for (const json& row : report.at("measurements")) {
    const auto tokens = row.at("tokens").get<int>();
    EXPECT_EQ(row.at("operation"), "backward");
    EXPECT_EQ(row.at("status"), "passed") << row;
    EXPECT_EQ(row.at("flops"), 2 * tokens * 96 * 160);
    EXPECT_EQ(row.at("bytes").at("written"), tokens * 160 * 2);
    EXPECT_EQ(row.at("verification").at("compared"), tokens * 160);
    const json& accuracy = row.at("verification").at("accuracy");
    EXPECT_EQ(accuracy.at("class"), "exact-weights");
    EXPECT_EQ(accuracy.at("inputs_seen").at("alone"), 96);
  }
}

TEST(Backward, TakesTheWeightsOfAFile) {
  const std::string file = NF4BENCH_SOURCE_DIR "/data/llama_layer.safetensors";
  const json report = report_of({file, "--tensor", "k_proj|gate_proj", "--tokens", "3"});
  std::set<std::pair<json, int>> written;
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("status"), "passed") << row;
    written.emplace(row.at("tensor"), row.at("bytes").at("written").get<int>());
  }
  EXPECT_THAT(written,
              ElementsAre(std::pair(json("t0"), 3 * 256 * 2), std::pair(json("t1"), 3 * 256 * 2)));
}

TEST(Backward, StandsBesideTheProductOfTheSameWeights) {
  const json report = report_of({"--operation", "matmul", "--shape", "64x96", "--tokens", "2"});
  EXPECT_EQ(report.at("tensors").size(), 1u);
  std::set<std::pair<std::string, int>> written;
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("status"), "passed") << row;
    written.emplace(row.at("operation"), row.at("bytes").at("written").get<int>());
  }
  EXPECT_THAT(written,
              ElementsAre(std::pair("backward", 2 * 96 * 2), std::pair("matmul", 2 * 64 * 2)));
}

TEST(Backward, ReportFitsTheSchemaAndIsPlausibleAndLikeItself) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  ASSERT_THAT(run_backward({"--shape", "64x96", "--shape", "33x7", "--json", path}), Ends(0));
  EXPECT_THAT(shell("PATH=/usr/bin:$PATH python3 '" NF4BENCH_SOURCE_DIR
                    "/scripts/validate_report.py' --strict " +
                    path),
              Ends(0));
  // A build with sanitizers is no Release build, which the check refuses.
  json report = json::parse(std::ifstream(path));
  report.at("tool").at("build_type") = "Release";
  std::ofstream(path) << report;
  EXPECT_THAT(nf4bench({"check", path}), AllOf(Ends(0), Prints(Not(HasSubstr("backward")))));
  EXPECT_THAT(nf4bench({"compare", path, path, "--metric", "time"}),
              AllOf(Ends(0), Prints(HasSubstr("backward"))));
}

TEST(Backward, AnotherBaselineMakesSpeedupsAnotherQuantity) {
  const ScratchFolder scratch;
  const std::string one = scratch.path("one.json");
  const std::string other = scratch.path("other.json");
  ASSERT_THAT(run_backward({"--shape", "64x96", "--tokens", "1", "--json", one}), Ends(0));
  ASSERT_THAT(nf4bench({"run",           "--device", "cpu",        "--no-ceilings",
                        "--operation",   "backward", "--max-time", "0.01",
                        "--cache",       "hot",      "--variant",  "reference,simd",
                        "--min-samples", "3",        "--baseline", "simd",
                        "--shape",       "64x96",    "--tokens",   "1",
                        "--json",        other}),
              Ends(0));
  const Outcome found = nf4bench({"compare", one, other, "--metric", "speedup"});
  EXPECT_EQ(found.exit_code, 7);
  EXPECT_THAT(found.out + found.err, HasSubstr("backward_baseline"));
}

TEST(Backward, TableNamesItWithTheShapeOfTheLayer) {
  EXPECT_THAT(
      run_backward({"--shape", "96x128", "--tokens", "1,5"}),
      AllOf(Ends(0),
            Prints(AllOf(HasSubstr("backward  96x128  bf16"),
                         ContainsRegex("\n.      5  reference +[0-9.]+ [mun]s"),
                         HasSubstr("TFLOP/s"), HasSubstr("exact"),
                         ContainsRegex("each[ \n]+weight[ \n]+was[ \n]+seen[ \n]+alone")))));
}

TEST(Backward, DryRunCountsItsTokens) {
  EXPECT_THAT(run_backward({"--shape", "4096x4096", "--tokens", "1,16", "--dry-run"}),
              AllOf(Ends(0), Prints(AllOf(ContainsRegex("\noperation +backward"),
                                          ContainsRegex("\ntokens +1, 16 \\(normal\\)")))));
}

// dY has a value for each output of the layer.
TEST(Backward, TakesGradientsFromAFileOfTheLayersOutputs) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("dy.npy");
  write_npy(path, "3, 64", std::vector<float>(std::size_t{3} * 64));
  const json report = report_of({"--shape", "64x96", "--tokens", "3", "--activations", path});
  EXPECT_EQ(report.at("settings").at("activations").at("kind"), "file");
  EXPECT_THAT(run_backward({"--shape", "96x64", "--tokens", "3", "--activations", path}),
              Ends(3, AllOf(HasSubstr("has 64 values a token"), HasSubstr("takes 96"))));
}

TEST(Backward, RefusesFloat32AndVariantsOfOtherOperationsWithWords) {
  EXPECT_THAT(run_backward({"--shape", "64x64", "--dtype", "float32"}),
              Ends(2, AllOf(HasSubstr("backward is not made for float32"), HasSubstr("--dtype"))));
  EXPECT_THAT(nf4bench({"run", "--device", "cpu", "--operation", "backward,dequantize", "--shape",
                        "64x64", "--variant", "multi_pass"}),
              Ends(2, AllOf(HasSubstr("--variant"), HasSubstr("no variant of backward"))));
}

}  // namespace
}  // namespace nf4bench::test
