// "nf4bench run --operation matmul", from the command line to the report and the table.

#include "cli/npy_file.hpp"
#include "cli/outcome.hpp"
#include "source_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<std::string> kShortRun = {
    "run",  "--device",      "cpu", "--no-ceilings", "--operation", "matmul", "--max-time",
    "0.01", "--min-samples", "3",   "--cache",       "hot"};

// A short run of two variants that are everywhere, unless others are named.
std::vector<std::string> matmul_run(const std::vector<std::string>& more) {
  const auto is_free = [&](const char* option) {
    return std::ranges::find(more, option) == more.end();
  };
  std::vector<std::string> arguments = kShortRun;
  if (is_free("--variant")) arguments.insert(arguments.end(), {"--variant", "reference,simd"});
  if (is_free("--baseline")) arguments.insert(arguments.end(), {"--baseline", "reference"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Outcome run_matmul(const std::vector<std::string>& more) {
  return nf4bench(matmul_run(more));
}

json report_of(const Words& more) {
  return silent_json_of(run_matmul(more + Words{"--json", "-", "--quiet"}));
}

// Numbers of tokens in order of appearance.
std::vector<int> tokens_of(const json& report) {
  std::vector<int> tokens;
  for (const json& row : report.at("measurements")) {
    const int each = row.at("tokens").get<int>();
    if (std::find(tokens.begin(), tokens.end(), each) == tokens.end()) tokens.push_back(each);
  }
  return tokens;
}

TEST(Matmul, ReportsEveryNumberOfTokensWithRatesAndAccuracy) {
  const json report =
      report_of({"--shape", "96x128", "--tokens", "1,5", "--variant", "reference,simd"});
  EXPECT_THAT(tokens_of(report), ElementsAre(1, 5));
  EXPECT_EQ(report.at("measurements").size(), 2u * 2u);
  EXPECT_EQ(report.at("settings").at("operations"),
            json::parse(R"([{"name": "matmul", "baseline": "reference"}])"));
  for (const json& row : report.at("measurements")) {
    const double tokens = row.at("tokens").get<double>();
    EXPECT_EQ(row.at("operation"), "matmul");
    EXPECT_EQ(row.at("status"), "passed") << row;
    EXPECT_EQ(row.at("flops").get<double>(), 2.0 * tokens * 96 * 128);
    EXPECT_NEAR(row.at("flops_per_s").get<double>() * row.at("time_s").at("median").get<double>(),
                row.at("flops").get<double>(), 1e-3);
    EXPECT_EQ(row.at("bytes").at("written").get<double>(), tokens * 96 * 2);
    const json& accuracy = row.at("verification").at("accuracy");
    EXPECT_EQ(accuracy.at("class"), "exact-weights");
    EXPECT_GT(accuracy.at("rms_error").get<double>(), 0.0);
    EXPECT_GE(accuracy.at("max_error").get<double>(), accuracy.at("rms_error").get<double>());
  }
}

TEST(Matmul, TakesOneEightAndSixtyFourTokensWhenNobodyChooses) {
  EXPECT_THAT(tokens_of(report_of({"--shape", "64x64"})), ElementsAre(1, 8, 64));
}

// What a short run measures when it is started with `more` alone, and what refers to what.
struct Chosen {
  std::vector<std::string> variants;
  std::string baseline;
};

Chosen chosen_by(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = kShortRun;
  arguments.insert(arguments.end(),
                   {"--shape", "64x64", "--tokens", "1", "--json", "-", "--quiet"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = nf4bench(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(outcome.out, nullptr, false);
  Chosen chosen;
  for (const json& each : report.at("measurements")) chosen.variants.push_back(each.at("variant"));
  chosen.baseline = report.at("settings").at("baseline");
  return chosen;
}

TEST(Matmul, LeavesTheReferenceOutUnlessItIsNamed) {
  const Chosen all = chosen_by({});
  EXPECT_THAT(all.variants, ElementsAre("decode_blas", "simd"));
  EXPECT_EQ(all.baseline, "decode_blas");
  EXPECT_THAT(chosen_by({"--variant", "reference"}).variants,
              ElementsAre("decode_blas", "reference"));
  EXPECT_THAT(chosen_by({"--variant", "*"}).variants,
              ElementsAre("reference", "decode_blas", "simd"));
  const Chosen asked = chosen_by({"--baseline", "reference"});
  EXPECT_THAT(asked.variants, ElementsAre("reference", "decode_blas", "simd"));
  EXPECT_EQ(asked.baseline, "reference");
}

TEST(Matmul, MeasuresWithoutABlasAndSaysWhatThatCosts) {
  const ScratchFolder scratch;
  for (const char* const library : {"libopenblas.so.0", "libblas.so.3", "libcblas.so.3"}) {
    std::ofstream(scratch.path(library)) << "no library";
  }
  std::vector<std::string> arguments = kShortRun;
  Command command = nf4bench_command(arguments + Words{"--shape", "64x64", "--tokens", "1"});
  command.environment.push_back("LD_LIBRARY_PATH=" + scratch.path(""));
  command.environment.emplace_back("COLUMNS=400");  // no sentence is broken
  EXPECT_THAT(
      Process(command).wait(),
      AllOf(Ends(0),
            Prints(AllOf(ContainsRegex("decode_blas +skipped: there is no BLAS library"),
                         ContainsRegex("simd +[0-9.]+ [mun]s"),
                         HasSubstr("matmul has no speedups, because its baseline decode_blas was "
                                   "skipped: there is no BLAS library with a C interface: install "
                                   "libopenblas0, or name another one by --baseline.")))));
}

TEST(Matmul, StandsBesideDequantizeInOneReport) {
  const json report = report_of({"--operation", "dequantize", "--shape", "64x64", "--tokens", "2",
                                 "--baseline", "multi_pass"});
  EXPECT_EQ(report.at("settings").at("operations"),
            json::parse(R"([{"name": "matmul", "baseline": "decode_blas"},
                            {"name": "dequantize", "baseline": "multi_pass"}])"));
  std::set<std::tuple<std::string, bool, std::string>> found;
  for (const json& row : report.at("measurements")) {
    if (row.at("variant") == "decode_blas") continue;  // skipped without a BLAS library
    EXPECT_EQ(row.at("status"), "passed") << row;
    found.emplace(row.at("operation"), row.at("tokens").is_null(), row.at("variant"));
  }
  EXPECT_THAT(found, ElementsAre(std::tuple("dequantize", true, "multi_pass"),
                                 std::tuple("dequantize", true, "reference"),
                                 std::tuple("dequantize", true, "simd"),
                                 std::tuple("matmul", false, "reference"),
                                 std::tuple("matmul", false, "simd")));
  EXPECT_EQ(report.at("tensors").size(), 1u);
  std::set<std::pair<std::string, std::string>> variants;
  for (const json& each : report.at("variants")) variants.emplace(each["operation"], each["name"]);
  EXPECT_TRUE(variants.contains({"dequantize", "simd"}));
  EXPECT_TRUE(variants.contains({"matmul", "simd"}));
  EXPECT_EQ(report.at("summary").at("tensors_verified"), 1);
}

TEST(Matmul, ReportFitsTheSchema) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  ASSERT_EQ(run_matmul({"--shape", "64x64", "--json", path}).exit_code, 0);
  EXPECT_THAT(shell("PATH=/usr/bin:$PATH python3 '" NF4BENCH_SOURCE_DIR
                    "/scripts/validate_report.py' --strict " +
                    path),
              Ends(0));
}

TEST(Matmul, TakesRowsThatTheBlocksizeDoesNotDivideAndAnyNumberOfOutputs) {
  const json report = report_of(
      {"--shape", "37x342", "--shape", "1x70", "--tokens", "3", "--variant", "reference,simd"});
  for (const json& row : report.at("measurements")) EXPECT_EQ(row.at("status"), "passed") << row;
}

TEST(Matmul, MultipliesWithEachExpertOfAStack) {
  const json report = report_of({"--shape", "3x64x128", "--tokens", "2"});
  ASSERT_EQ(report.at("tensors").size(), 1u);
  EXPECT_EQ(report.at("tensors")[0].at("shape"), json({64, 128}));
  EXPECT_EQ(report.at("tensors")[0].at("multiplicity"), 3);
  EXPECT_EQ(report.at("summary").at("tensors_verified"), 3);
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("status"), "passed") << row;
    EXPECT_EQ(row.at("flops"), 2 * 2 * 64 * 128);
  }
}

TEST(Matmul, DequantizesAStackWholeAndMultipliesWithItsExperts) {
  const json report = report_of(
      {"--operation", "dequantize", "--shape", "3x64x128", "--shape", "32x64", "--tokens", "2"});
  std::set<std::pair<std::string, json>> shapes;
  for (const json& row : report.at("measurements")) {
    EXPECT_EQ(row.at("status"), "passed") << row;
    for (const json& tensor : report.at("tensors")) {
      if (tensor.at("id") == row.at("tensor")) {
        shapes.emplace(row.at("operation"), tensor.at("shape"));
      }
    }
  }
  EXPECT_THAT(shapes, ElementsAre(std::pair("dequantize", json({3, 64, 128})),
                                  std::pair("dequantize", json({32, 64})),
                                  std::pair("matmul", json({32, 64})),
                                  std::pair("matmul", json({64, 128}))));
}

TEST(Matmul, RefusesExpertsThatBeginWithinABlock) {
  EXPECT_THAT(run_matmul({"--shape", "3x5x7"}),
              Ends(2, AllOf(HasSubstr("3x5x7"), HasSubstr("block of 64"))));
}

TEST(Matmul, RefusesFloat32WithWords) {
  EXPECT_THAT(
      run_matmul({"--shape", "64x64", "--dtype", "float32"}),
      Ends(2, AllOf(HasSubstr("float32"), HasSubstr("float16, bfloat16"), HasSubstr("--dtype"))));
}

struct BadTokens {
  std::string word;
  std::string complaint;
};

TEST(Matmul, RefusesTokensThatAreNone) {
  for (const BadTokens& each :
       {BadTokens{"0", "1 to 65536"}, BadTokens{"65537", "1 to 65536"}, BadTokens{"8,x", "\"x\""},
        BadTokens{"-1", "1 to 65536"}, BadTokens{"8,1,8", "twice"}, BadTokens{"1.5", "\"1.5\""}}) {
    EXPECT_THAT(run_matmul({"--shape", "64x64", "--tokens=" + each.word}),
                Ends(2, AllOf(HasSubstr("--tokens"), HasSubstr(each.complaint))))
        << each.word;
  }
}

TEST(Matmul, SaysThatTokensAreOfNoUseWithoutIt) {
  EXPECT_THAT(
      nf4bench({"run", "--device", "cpu", "--no-ceilings", "--max-time", "0.01", "--cache", "hot",
                "--shape", "64x64", "--tokens", "4", "--variant", "simd", "--quiet"}),
      Ends(0, AllOf(HasSubstr("warning: --tokens"), HasSubstr("--operation matmul"))));
}

TEST(Matmul, TakesActivationsFromAFile) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("x.npy");
  std::vector<float> values(4 * 128);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3.0f;
  write_npy(path, "4, 128", values);
  const json report = report_of({"--shape", "64x128", "--tokens", "1,4", "--activations", path});
  EXPECT_EQ(report.at("settings").at("activations").at("kind"), "file");
  EXPECT_EQ(report.at("settings").at("activations").at("file"), path);
  // Products of small integers and weights of few digits: other errors than those of any noise.
  const json noise = report_of({"--shape", "64x128", "--tokens", "1,4"});
  for (std::size_t i = 0; i < report.at("measurements").size(); ++i) {
    EXPECT_EQ(report["measurements"][i]["status"], "passed");
    EXPECT_NE(report["measurements"][i]["verification"]["accuracy"],
              noise["measurements"][i]["verification"]["accuracy"]);
  }
}

// No kernel is wrong because float32 ends there.
TEST(Matmul, PassesWhereSumsOverflowOnTheirWay) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("x.npy");
  write_npy(path, "1, 512", std::vector<float>(512, 3e38f));
  const json report = report_of(
      {"--shape", "64x512", "--dtype", "bfloat16", "--tokens", "1", "--activations", path});
  for (const json& row : report.at("measurements")) EXPECT_EQ(row["status"], "passed") << row;
}

TEST(Matmul, SaysThatZerosAndNanJudgeNothing) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("x.npy");
  for (const float value : {0.0f, std::numeric_limits<float>::quiet_NaN()}) {
    write_npy(path, "1, 128", std::vector<float>(128, value));
    const json report = report_of({"--shape", "64x128", "--tokens", "1", "--activations", path});
    for (const json& row : report.at("measurements")) {
      EXPECT_EQ(row["status"], "passed") << row;
      EXPECT_EQ(row["verification"]["accuracy"]["class"], "unseen-weights") << row;
    }
    EXPECT_THAT(report.at("warnings").dump(), HasSubstr("judged by nothing but the probes"));
  }
}

TEST(Matmul, RefusesActivationsThatDoNotFit) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("x.npy");
  write_npy(path, "4, 128", std::vector<float>(4 * 128, 1.0f));
  const auto refuse = [&](const std::vector<std::string>& more, const std::string& complaint) {
    std::vector<std::string> words = more;
    EXPECT_THAT(run_matmul(words + Words{"--activations", path}),
                Ends(3, AllOf(HasSubstr("x.npy"), HasSubstr(complaint))));
  };
  refuse({"--shape", "64x128", "--tokens", "5"}, "4 tokens");
  refuse({"--shape", "64x256", "--tokens", "1"}, "128 values a token");
  write_npy(path, "512,", std::vector<float>(4 * 128, 1.0f));
  refuse({"--shape", "64x128", "--tokens", "1"}, "two dimensions");
  std::ofstream(path) << "no array";
  refuse({"--shape", "64x128", "--tokens", "1"}, "npy");
}

TEST(Matmul, NeverWritesTheReportOverItsActivations) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("x");
  write_npy(path, "1, 64", std::vector<float>(64, 1.0f));
  const std::string before = read_file(path);
  EXPECT_THAT(run_matmul({"--shape", "64x64", "--tokens", "1", "--activations", path, "--json",
                          path, "--force"}),
              Ends(2, HasSubstr("activations")));
  EXPECT_EQ(read_file(path), before);
}

TEST(Matmul, KnowsOtherWordsForActivationsFromMisspeltOnes) {
  EXPECT_THAT(run_matmul({"--shape", "64x64", "--activations", "outliers"}),
              Ends(3, AllOf(HasSubstr("outliers"), HasSubstr("normal, outlier"))));
}

TEST(Matmul, TableHasRowsByTokens) {
  EXPECT_THAT(
      run_matmul({"--shape", "96x128", "--tokens", "1,5"}),
      AllOf(Ends(0), Prints(AllOf(HasSubstr("matmul  96x128  bf16"), HasSubstr("tokens  variant"),
                                  ContainsRegex("\n.      1  reference +[0-9.]+ [mun]s"),
                                  ContainsRegex("\n.      5  reference +[0-9.]+ [mun]s"),
                                  ContainsRegex("\n. +simd +[0-9.]+ [mun]s"), HasSubstr("TFLOP/s"),
                                  HasSubstr("rms error"), HasSubstr("exact"),
                                  Not(HasSubstr("bit for bit"))))));
}

TEST(Matmul, DryRunShowsTokensAndCountsThem) {
  EXPECT_THAT(
      run_matmul(
          {"--shape", "4096x4096", "--tokens", "1,16", "--dry-run", "--operation", "dequantize"}),
      AllOf(Ends(0),
            Prints(AllOf(ContainsRegex("\noperations +matmul, dequantize"),
                         ContainsRegex("\ntokens +1, 16 \\(normal\\)"),
                         ContainsRegex("\nvariants +matmul: reference \\(baseline\\), simd"),
                         HasSubstr("dequantize: ")))));
}

TEST(Matmul, DryRunCountsTheMemoryOfTheReference) {
  const auto host_memory = [](const std::string& tokens) {
    const Outcome outcome = run_matmul({"--shape", "64x64", "--tokens", tokens, "--dry-run"});
    return outcome.out.substr(outcome.out.find("host memory"), 40);
  };
  // 65,536 tokens of 64 outputs: 16 bytes each for what is expected of the weight and of its
  // sibling.
  EXPECT_THAT(host_memory("65536"),
              ContainsRegex("host memory +(1[5-9][0-9]|2[0-9][0-9])[.0-9]* MiB"));
  EXPECT_THAT(host_memory("1"), ContainsRegex("host memory +[0-9.]+ KiB"));
}

TEST(Matmul, ColdSamplesRotateActivationsWhenAsked) {
  const auto device_sets = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--shape",  "64x64", "--cache",  "cold",
                                      "--tokens", "4096",  "--dry-run"};
    words.insert(words.end(), more.begin(), more.end());
    return run_matmul(words).out;
  };
  EXPECT_THAT(device_sets({}), HasSubstr("4096 (normal)"));
  EXPECT_THAT(device_sets({"--cold-activations"}), HasSubstr("4096 (normal, cold)"));
  EXPECT_EQ(report_of({"--shape", "64x64", "--tokens", "2", "--cold-activations"})
                .at("settings")
                .at("activations")
                .at("cold"),
            true);
}

TEST(Matmul, RefusesAPatternThatLeavesAnOperationWithoutAVariant) {
  EXPECT_THAT(
      run_matmul({"--operation", "dequantize", "--shape", "64x64", "--variant", "multi_pass"}),
      Ends(2, AllOf(HasSubstr("--variant"), HasSubstr("matmul"))));
}

TEST(Matmul, ChecksEachVariantOfEachOperationAlone) {
  const json report = json_of(
      run_matmul({"--operation", "dequantize", "--shape", "64x64", "--tokens", "1", "--variant",
                  "simd", "--baseline", "none", "--check-company", "--json", "-", "--quiet"}));
  ASSERT_EQ(report.at("measurements").size(), 2u);
  for (const json& row : report.at("measurements")) {
    EXPECT_TRUE(row.at("alone_s").is_object()) << row;
  }
}

TEST(Matmul, LooksForCrossoversUntilThereAreNone) {
  const json report = report_of({"--shape", "64x64", "--tokens", "1,9", "--crossover"});
  EXPECT_EQ(report.at("complete"), true);
  for (const json& entry : report.at("summary").at("crossover")) {
    const json& fastest = entry.at("fastest");
    for (std::size_t i = 1; i < fastest.size(); ++i) {
      if (fastest[i - 1].at("variant").is_null() || fastest[i].at("variant").is_null()) continue;
      EXPECT_EQ(fastest[i].at("first").get<int>(), fastest[i - 1].at("last").get<int>() + 1);
    }
  }
  EXPECT_EQ(report.at("summary").at("crossover").size(), 1u);
}

TEST(Matmul, VariantsOfOneOperationAreListed) {
  EXPECT_THAT(nf4bench({"list", "variants", "--operation", "matmul", "--device", "cpu"}),
              AllOf(Ends(0), Prints(AllOf(ContainsRegex("matmul +cpu +reference"),
                                          HasSubstr("simd"), Not(HasSubstr("multi_pass"))))));
}

TEST(Matmul, ReportsAreComparedCellByCell) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  ASSERT_EQ(run_matmul({"--shape", "64x64", "--tokens", "1,2", "--variant", "reference,simd",
                        "--json", path})
                .exit_code,
            0);
  const Outcome outcome = nf4bench({"compare", path, path, "--json"});
  const json result = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << outcome.out << outcome.err;
  EXPECT_EQ(result.at("cells").size(), 2u * 2u);
  std::set<int> tokens;
  for (const json& cell : result.at("cells")) tokens.insert(cell.at("tokens").get<int>());
  EXPECT_THAT(tokens, ElementsAre(1, 2));
  const Outcome table = nf4bench({"compare", path, path});
  EXPECT_THAT(table.out, AllOf(HasSubstr("1 token "), HasSubstr("2 tokens")));
}

}  // namespace
}  // namespace nf4bench::test
