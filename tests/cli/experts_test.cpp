// "nf4bench run --operation experts", from the command line to the report and the table.

#include "base/atomic_file.hpp"
#include "cli/npy_file.hpp"
#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;

Outcome run_experts(const std::vector<std::string>& more) {
  return nf4bench(Words{"run", "--device", "cpu", "--no-ceilings", "--operation", "experts",
                        "--max-time", "0.01", "--min-samples", "3", "--cache", "hot"} +
                  more);
}

json report_of(const Words& more) {
  return silent_json_of(run_experts(more + Words{"--json", "-", "--quiet"}));
}

void expect_usage_error(const std::vector<std::string>& more, const std::string& word) {
  EXPECT_THAT(run_experts(more), Ends(2, HasSubstr(word))) << word;
}

TEST(ExpertsRun, ReportsWhatTheRoutingHitsForEveryVariant) {
  const json report = report_of({"--shape", "8x128x128", "--top-k", "3", "--tokens", "1,5"});
  EXPECT_EQ(report.at("settings").at("experts"),
            json::parse(R"({"top_k": 3, "routing": "uniform"})"));
  EXPECT_EQ(report.at("tensors").at(0).at("stack").at("part"), "gate_up");
  EXPECT_EQ(report.at("tensors").at(0).at("stack").at("top_k"), 3);
  std::set<std::string> variants;
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("operation"), "experts");
    EXPECT_EQ(row.at("status"), "passed") << row.at("reason");
    variants.insert(row.at("variant").get<std::string>());
    const int tokens = row.at("tokens").get<int>();
    EXPECT_EQ(row.at("flops"), 2 * tokens * 3 * 128 * 128);
    EXPECT_GE(row.at("experts").at("hit").get<double>(), 3.0);
    EXPECT_LE(row.at("experts").at("hit").get<double>(), tokens == 1 ? 3.0 : 8.0);
    EXPECT_GE(row.at("experts").at("fullest_rows"), 1);
    EXPECT_LE(row.at("experts").at("fullest_rows"), tokens);
  }
  EXPECT_EQ(variants, (std::set<std::string>{"decode_all", "loop", "grouped", "grouped_resident"}));
}

TEST(ExpertsRun, TakesBothPartsOfAModelOfFusedExperts) {
  const json report = report_of({sample("moe/fused_experts.safetensors"), "--top-k", "2",
                                 "--tokens", "3", "--variant", "reference,grouped"});
  std::set<std::string> parts;
  for (const json& tensor : report.at("tensors")) {
    EXPECT_EQ(tensor.at("shape").size(), 3u);
    parts.insert(tensor.at("stack").at("part").get<std::string>());
  }
  EXPECT_EQ(parts, (std::set<std::string>{"gate_up", "down"}));
  const json down = report_of({sample("moe/fused_experts.safetensors"), "--top-k", "2", "--tokens",
                               "3", "--variant", "grouped", "--part", "down"});
  EXPECT_EQ(down.at("tensors").size(), 1u);
  EXPECT_EQ(down.at("tensors").at(0).at("stack").at("part"), "down");
}

TEST(ExpertsRun, MeasuresWholeLayers) {
  const json report = report_of({"--shape", "8x128x256", "--top-k", "3", "--tokens", "1,5",
                                 "--part", "layer", "--activation", "gptoss"});
  const json& tensor = report.at("tensors").at(0);
  EXPECT_EQ(tensor.at("stack"),
            json::parse(R"({"part": "layer", "top_k": 3, "activation": "gptoss"})"));
  EXPECT_EQ(tensor.at("shape"), json::parse("[8, 192, 256]"));
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("status"), "passed") << row.at("variant") << row.at("reason");
    EXPECT_EQ(row.at("flops"), 2 * row.at("tokens").get<int>() * 3 * 192 * 256);
  }
}

TEST(ExpertsRun, TakesMatricesThatLieTransposed) {
  const json report = report_of({"--transposed", "--shape", "4x128x192", "--top-k", "2", "--tokens",
                                 "1,9", "--part", "gate_up,layer", "--plain"});
  EXPECT_EQ(report.at("tensors").size(), 2u);
  for (const json& tensor : report.at("tensors")) EXPECT_TRUE(tensor.at("stack").at("transposed"));
  EXPECT_EQ(report.at("tensors").at(1).at("shape"), (json{4, 288, 128}));
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("status"), "passed") << row.at("variant") << row.at("reason");
  }
}

TEST(ExpertsRun, JoinsTheStacksOfAFileToALayer) {
  const json report =
      report_of({sample("moe/fused_experts.safetensors"), "--top-k", "2", "--tokens", "3", "--part",
                 "layer,down", "--baseline", "none", "--variant", "reference,grouped"});
  std::set<std::string> parts;
  for (const json& tensor : report.at("tensors")) {
    parts.insert(tensor.at("stack").at("part").get<std::string>());
  }
  EXPECT_EQ(parts, (std::set<std::string>{"down", "layer"}));
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("status"), "passed") << row.at("variant") << row.at("reason");
  }
}

TEST(ExpertsRun, TakesTopKAndActivationOfTheConfigBesideAFile) {
  const ScratchFolder folder;
  write_file(folder.path("model.safetensors"), read_file(sample("moe/per_expert.safetensors")));
  write_file(folder.path("config.json"),
             R"({"num_experts_per_tok": 2, "hidden_act": "gelu_pytorch_tanh"})");
  const json report = report_of({folder.path(""), "--tokens", "3", "--part", "layer,down",
                                 "--baseline", "none", "--variant", "reference,grouped"});
  ASSERT_EQ(report.at("tensors").size(), 2u);
  EXPECT_EQ(report.at("tensors").at(0).at("stack"), json::parse(R"({"part": "down", "top_k": 2})"));
  EXPECT_EQ(report.at("tensors").at(1).at("stack"),
            json::parse(R"({"part": "layer", "top_k": 2, "activation": "gelu_tanh"})"));
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("status"), "passed") << row.at("variant") << row.at("reason");
  }
  write_file(folder.path("config.json"), R"({"num_experts_per_tok": 2, "hidden_act": "gelu"})");
  const json unknown = report_of({folder.path(""), "--tokens", "3", "--part", "layer", "--baseline",
                                  "none", "--variant", "grouped"});
  EXPECT_THAT(unknown.at("warnings").dump(), HasSubstr("config.json: the activation"));
  write_file(folder.path("config.json"), R"({"num_experts_per_tok": 5})");
  expect_usage_error({folder.path("")}, "num_experts_per_tok of config.json: 5 is more than");
}

TEST(ExpertsRun, SaysWhatALayerLacks) {
  expect_usage_error({"--shape", "8x127x256", "--top-k", "2", "--part", "layer"}, "[E, 2 I, H]");
  expect_usage_error({"--shape", "3x32x64", "--top-k", "2", "--part", "layer"}, "group of 256");
  expect_usage_error({sample("moe/fused_experts.safetensors"), "--top-k", "2", "--part", "layer",
                      "--tensor", "gate_up"},
                     "has no second stack");
  expect_usage_error(
      {"--shape", "8x128x256", "--top-k", "2", "--part", "layer", "--activation", "relu"}, "relu2");
}

TEST(ExpertsRun, GivesAReportThatIsPlausible) {
  const ScratchFolder folder;
  const std::string path = folder.path("report.json");
  json report = report_of({"--shape", "8x128x256", "--top-k", "2", "--tokens", "1,16"});
  report.at("tool").at("build_type") = "Release";  // others are refused, and tests run in them, too
  write_file(path, report.dump(2));
  EXPECT_THAT(nf4bench({"check", path}), AllOf(Ends(0), Prints(HasSubstr("plausible"))));
}

TEST(ExpertsRun, MeasuresColdStacksUnderEveryRouting) {
  for (const std::string routing :
       {"zipf:0.9", "normal:1.05:dead=0.25", "one", "balanced", "uniform"}) {
    const json report = report_of({"--shape", "8x64x128", "--top-k", "2", "--tokens", "4", "--part",
                                   "down", "--routing", routing, "--variant", "grouped",
                                   "--baseline", "none", "--cache", "cold", "--rotate", "1"});
    const json& row = report.at("measurements").at(0);
    EXPECT_EQ(row.at("status"), "passed") << routing << row.at("reason");
    if (routing == "one") {
      EXPECT_EQ(row.at("experts"), json::parse(R"({"hit": 2.0, "fullest_rows": 4})"));
    }
    if (routing == "balanced") {
      EXPECT_EQ(row.at("experts"), json::parse(R"({"hit": 8.0, "fullest_rows": 1})"));
    }
  }
}

TEST(ExpertsRun, TakesIdsOfAFile) {
  const std::string path = testing::TempDir() + "ids.npy";
  write_npy(path, "4, 2", std::vector<std::int32_t>{0, 5, 5, 0, 0, 5, -1, 5});
  const json report = report_of({"--shape", "8x64x128", "--top-k", "2", "--tokens", "4",
                                 "--routing", path, "--variant", "grouped"});
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("experts"), json::parse(R"({"hit": 2.0, "fullest_rows": 4})"));
    EXPECT_EQ(row.at("flops"), 2 * 7 * 64 * 128);
  }
  EXPECT_THAT(
      run_experts({"--shape", "8x64x128", "--top-k", "2", "--tokens", "5", "--routing", path}),
      Ends(3, HasSubstr("has 4 tokens")));
  EXPECT_THAT(
      run_experts({"--shape", "8x64x128", "--top-k", "3", "--routing", path, "--tokens", "4"}),
      Ends(3, HasSubstr("--top-k")));
}

TEST(ExpertsRun, ShowsWhatIsHitInTheTable) {
  const Outcome outcome =
      run_experts({"--shape", "8x64x128", "--top-k", "2", "--tokens", "4", "--routing", "one"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  // Where the legend's lines break depends on how many digits the times above have.
  EXPECT_THAT(outcome.out,
              AllOf(ContainsRegex("TFLOP/s +hit +speedup"),
                    ContainsRegex("hit:[ \n]+experts[ \n]+that[ \n]+any[ \n]+token[ \n]+chose")));
}

TEST(ExpertsRun, PlansPresetsOfExpertsWithoutMakingThem) {
  for (const char* preset :
       {"qwen3-30b-a3b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-20b", "gpt-oss-120b",
        "qwen3-235b-a22b", "qwen3-next-80b-a3b", "qwen3.5-35b-a3b", "glm-4.5", "kimi-k2",
        "gemma-4-26b-a4b", "olmoe-1b-7b", "llama-4-scout"}) {
    EXPECT_THAT(nf4bench({"list", "presets", preset, "--json"}), Ends(0)) << preset;
  }
  EXPECT_THAT(
      run_experts({"--preset", "olmoe-1b-7b", "--tokens", "1", "--dry-run"}),
      AllOf(Ends(0), Prints(AllOf(HasSubstr("64x2048x2048"), HasSubstr("64x2048x1024"),
                                  ContainsRegex("routing +uniform"), HasSubstr("decode_all")))));
}

TEST(ExpertsRun, LeavesTheTensorsOfOtherOperationsAsTheyAre) {
  EXPECT_THAT(nf4bench({"run", "--device", "cpu", "--preset", "olmoe-1b-7b", "--operation",
                        "dequantize,experts", "--tokens", "1", "--dry-run"}),
              AllOf(Ends(0), Prints(AllOf(HasSubstr("1024x2048"), HasSubstr("64x2048x2048")))));
}

TEST(ExpertsRun, SaysWhatIsWrongWithItsOptions) {
  expect_usage_error({"--shape", "64x128"}, "no stack");
  expect_usage_error({"--shape", "8x64x128"}, "--top-k");
  expect_usage_error({"--shape", "8x64x128", "--top-k", "9"}, "more than the 8 experts");
  expect_usage_error({"--shape", "8x64x128", "--top-k", "2", "--routing", "some"}, "--routing");
  expect_usage_error({"--shape", "8x64x128", "--top-k", "2", "--routing", "one:dead=0.9"},
                     "--routing");
  expect_usage_error({"--shape", "8x64x128", "--top-k", "2", "--dtype", "float32"}, "--dtype");
  const Outcome idle = nf4bench({"run", "--device", "cpu", "--shape", "64x64", "--routing", "one",
                                 "--top-k", "2", "--dry-run"});
  EXPECT_THAT(idle.err, AllOf(HasSubstr("--routing changes nothing without --operation experts"),
                              HasSubstr("--top-k changes nothing")));
  const Outcome more = nf4bench({"run", "--device", "cpu", "--shape", "8x64x128", "--operation",
                                 "experts", "--top-k", "2", "--activation", "silu", "--crossover",
                                 "--tokens", "1", "--dry-run"});
  EXPECT_THAT(more.err, AllOf(HasSubstr("--activation changes nothing without --part layer"),
                              HasSubstr("--crossover changes nothing with a single number")));
}

}  // namespace
}  // namespace nf4bench::test
