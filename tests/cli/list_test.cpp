#include "cli/on_a_terminal.hpp"
#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json listing(const std::vector<std::string>& arguments) {
  return json_of(nf4bench(arguments));
}

TEST(ListVariants, NamesTheCpuVariantsSimplestFirst) {
  std::vector<std::string> names;
  for (const json& variant : listing({"list", "variants", "--device", "cpu", "--json"})) {
    EXPECT_EQ(variant.at("device"), "cpu");
    EXPECT_FALSE(variant.at("summary").get<std::string>().empty());
    names.push_back(variant.at("operation").get<std::string>() + " " +
                    variant.at("name").get<std::string>());
  }
  EXPECT_THAT(
      names, testing::ElementsAre("dequantize reference", "dequantize multi_pass", "dequantize lut",
                                  "dequantize simd", "matmul reference", "matmul decode_blas",
                                  "matmul simd", "experts reference", "experts decode_all",
                                  "experts loop", "experts grouped", "experts grouped_resident",
                                  "backward reference", "backward decode_blas", "backward simd"));
}

TEST(ListVariants, TableHasOneLineAVariant) {
  const Outcome outcome = nf4bench({"list", "variants", "--device", "cpu"});
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 16);
  EXPECT_THAT(outcome.out, HasSubstr("multi_pass"));
}

class ListTables : public OnATerminal {};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line.substr(0, line.find('\r')));  // a terminal ends lines in "\r\n"
  }
  return lines;
}

Command with_columns(const std::vector<std::string>& arguments, const std::string& columns) {
  Command command = nf4bench_command(arguments);
  command.environment.push_back("COLUMNS=" + columns);
  return command;
}

TEST_F(ListTables, FitTheTerminal) {
  Command command = with_columns({"list", "variants"}, "60");
  command.output_stream = Stream::kTerminal;
  const Outcome outcome = Process(command).wait();
  EXPECT_THAT(outcome.out, HasSubstr("..."));
  for (const std::string& line : lines_of(outcome.out)) EXPECT_LE(line.size(), 60u) << line;
}

TEST(List, CutsNothingWhereThereIsNoTerminal) {
  const std::string out = Process(with_columns({"list", "variants"}, "")).wait().out;
  for (const json& variant : listing({"list", "variants", "--json"})) {
    const auto summary = variant.at("summary").get<std::string>();
    EXPECT_THAT(lines_of(out), testing::Contains(HasSubstr(summary)));
  }
  EXPECT_THAT(out, Not(HasSubstr("...")));
  EXPECT_THAT(Process(with_columns({"list", "devices"}, "")).wait().out, Not(HasSubstr("...")));
}

TEST(ListDevices, EndsWithTheCpu) {
  const json devices = listing({"list", "devices", "--json"});
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.back().at("id"), "cpu");
  EXPECT_EQ(devices.back().at("kind"), "cpu");
  EXPECT_GT(devices.back().at("memory_bytes").get<std::int64_t>(), 0);
}

TEST(ListPresets, TableHasOneLineAPreset) {
  const Outcome outcome = nf4bench({"list", "presets"});
  const auto count = listing({"list", "presets", "--json"}).size();
  EXPECT_EQ(static_cast<std::size_t>(std::count(outcome.out.begin(), outcome.out.end(), '\n')),
            count + 1);
  EXPECT_THAT(outcome.out, HasSubstr("Llama 3.1 8B, 32 layers"));
}

TEST(ListPresets, NameShowsTheLayers) {
  EXPECT_THAT(nf4bench({"list", "presets", "llama-3.1-8b"}),
              testing::AllOf(Ends(0), Prints("shape (out x in)  tensors  layers\n"
                                             "4096x4096              64  q_proj, o_proj\n"
                                             "1024x4096              64  k_proj, v_proj\n"
                                             "14336x4096             64  gate_proj, up_proj\n"
                                             "4096x14336             32  down_proj\n")));
  const json presets = listing({"list", "presets", "llama-3.1-8b", "--json"});
  ASSERT_EQ(presets.size(), 1u);
  EXPECT_EQ(presets.at(0).at("name"), "llama-3.1-8b");
}

TEST(ListPresets, UnknownNameIsAUsageErrorWithTheNearest) {
  EXPECT_THAT(nf4bench({"list", "presets", "llama-3.1-9b"}), Ends(2, HasSubstr("llama-3.1-8b")));
  EXPECT_EQ(nf4bench({"list", "devices", "llama-3.1-8b"}).exit_code, 2);
}

TEST(ListCards, SayThatTheyAreNotMeasuredAndHowToMeasure) {
  const Outcome outcome = nf4bench({"list", "cards"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* card : {"T4", "A100 80 GB", "RTX 3060", "RTX 3090", "RTX 4090", "RTX 5090",
                           "A10", "L4", "H100", "H200"}) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string("\n") + card + " (predicted, not measured)"))
        << card;
  }
  EXPECT_THAT(outcome.out, HasSubstr("PREDICTED, NOT MEASURED"));
  EXPECT_THAT(outcome.out, HasSubstr("~"));
  const Outcome asked =
      nf4bench({"list", "cards", "4090", "--shape", "4096x14336", "--tokens", "1,16"});
  EXPECT_THAT(asked.out, HasSubstr("nf4bench run --shape 4096x14336 --dtype float16 "
                                   "--operation matmul --tokens 1,16 --json matmul.json"));
  EXPECT_THAT(asked.out, Not(HasSubstr("T4")));
}

TEST(ListCards, JsonHasFactsAndPredictionsOfEachProduct) {
  const json rows = listing({"list", "cards", "rtx 3090", "--tokens", "1,64", "--json"});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows.at(0).at("operation"), "dequantize");
  EXPECT_TRUE(rows.at(0).at("tokens").is_null());
  for (const json& row : rows) {
    EXPECT_EQ(row.at("card"), "RTX 3090");
    EXPECT_EQ(row.at("compute_capability"), 86);
    EXPECT_EQ(row.at("multiprocessors"), 82);
    EXPECT_EQ(row.at("shape"), json({8192, 8192}));
    const json& predicted = row.at("predicted");
    EXPECT_GT(predicted.at("time_s").get<double>(), predicted.at("roof_s").get<double>());
    EXPECT_NEAR(predicted.at("fraction_of_roof").get<double>(),
                predicted.at("roof_s").get<double>() / predicted.at("time_s").get<double>(), 1e-6);
  }
  EXPECT_EQ(rows.at(1).at("predicted").at("bound"), "memory");
  EXPECT_EQ(rows.at(2).at("predicted").at("bound"), "tensor cores");
  EXPECT_EQ(rows.at(2).at("kernel"), "mma_ring");
}

TEST(ListCards, BfloatOfTuringGoesThroughFloat16) {
  const json rows = listing({"list", "cards", "T4", "--dtype", "bfloat16", "--json"});
  const json halves = listing({"list", "cards", "T4", "--dtype", "float16", "--json"});
  EXPECT_EQ(rows.at(2).at("kernel"), "mma_ring");
  EXPECT_GT(rows.at(2).at("predicted").at("time_s"), halves.at(2).at("predicted").at("time_s"));
  EXPECT_GT(rows.at(4).at("predicted").at("resident_s"),
            halves.at(4).at("predicted").at("resident_s"));
}

TEST(ListCards, CodeOfAnOlderCapabilityGetsItsKernels) {
  const auto kernel = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"list", "cards", "H200", "--tokens", "64", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return listing(arguments).at(1).at("kernel");
  };
  EXPECT_EQ(kernel({}), "wgmma_decode");
  EXPECT_EQ(kernel({"--compute-capability", "80"}), "mma_ring");
}

TEST(ListCards, RefuseWhatIsNoQuestion) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"list", "cards", "Voodoo"},
                                             {"list", "cards", "--shape", "4096"},
                                             {"list", "cards", "--shape", "1x3000000000"},
                                             {"list", "cards", "--tokens", "0"},
                                             {"list", "cards", "--dtype", "float32"},
                                             {"list", "presets", "--tokens", "1"},
                                             {"list", "presets", "--device", "cpu"},
                                             {"list", "devices", "--shape", "8x64"}}) {
    EXPECT_EQ(nf4bench(wrong).exit_code, 2) << wrong.back();
  }
  EXPECT_THAT(nf4bench({"list", "cards", "Voodoo"}).err, HasSubstr("RTX 4090"));
}

TEST(List, HasEachFormat) {
  const auto shown = [](const std::string& what, const std::string& format) {
    return nf4bench({"list", what, "--format", format}).out;
  };
  EXPECT_EQ(lines_of(shown("presets", "csv")).front(), "name,summary,layers");
  EXPECT_THAT(shown("presets", "markdown"), HasSubstr("| preset | shapes |"));
  EXPECT_THAT(lines_of(shown("cards", "csv")).front(), HasSubstr("predicted.time_s"));
  EXPECT_THAT(shown("cards", "markdown"), HasSubstr("#### T4 (predicted, not measured)"));
  EXPECT_EQ(shown("devices", "json"), nf4bench({"list", "devices", "--json"}).out);
  EXPECT_EQ(nf4bench({"list", "devices", "--format", "json", "--json"}).exit_code, 2);
}

}  // namespace
}  // namespace nf4bench::test
