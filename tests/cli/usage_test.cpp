#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr int kUsage = 2;

// A refused command line: exit code 2, nothing on stdout, one line on stderr, which is returned.
std::string refusal(const std::vector<std::string>& arguments) {
  const Outcome outcome = nf4bench(arguments);
  EXPECT_EQ(outcome.exit_code, kUsage);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_THAT(outcome.err, StartsWith("nf4bench: error: "));
  return outcome.err;
}

TEST(Version, IsOnStdoutWithExitCodeZero) {
  EXPECT_THAT(nf4bench({"--version"}),
              AllOf(Ends(0, IsEmpty()), Prints(AllOf(StartsWith("nf4bench "), HasSubstr("commit: "),
                                                     HasSubstr("CUDA: ")))));
}

TEST(Help, OfEveryCommandIsOnStdoutAndEndsInExamples) {
  for (const char* command : {"run", "list", "inspect", "synth", "dequantize"}) {
    EXPECT_THAT(nf4bench({command, "--help"}),
                AllOf(Ends(0, IsEmpty()), Prints(HasSubstr("Examples:\n"))))
        << command;
  }
}

std::string help_at(const std::string& columns, std::vector<std::string> words) {
  Command command = nf4bench_command(words);
  command.environment.push_back("COLUMNS=" + columns);
  return Process(command).wait().out;
}

// Lines that are indented by two are examples, which stay whole to be copied.
TEST(Help, IsAsWideAsTheTerminalAndElseEightyColumns) {
  const std::vector<std::vector<std::string>> commands = {
      {},        {"run"},        {"try"},     {"tries"},   {"list"},       {"inspect"},
      {"synth"}, {"dequantize"}, {"compare"}, {"history"}, {"merge"},      {"fleet"},
      {"check"}, {"site"},       {"export"},  {"doctor"},  {"completion"}, {"man"}};
  for (std::vector<std::string> command : commands) {
    command.emplace_back(command == std::vector<std::string>{"run"} ? "--help-all" : "--help");
    for (const std::string columns : {"", "60", "120"}) {
      const std::size_t width = columns.empty() ? 80 : std::stoul(columns);
      std::size_t longest = 0;
      for (const std::string& line : lines_of(help_at(columns, command))) {
        if (line.starts_with("  nf4bench ") || line.starts_with("    ")) continue;
        longest = std::max(longest, line.size());
      }
      EXPECT_LE(longest, width) << command.front();
      if (command.front() == "run") {
        EXPECT_GT(longest, width - 10);
      }
    }
  }
}

TEST(Help, OfRunFitsTwoScreensAndAllOfItIsOneOptionAway) {
  const std::string common = nf4bench({"run", "--help"}).out;
  EXPECT_LE(lines_of(common).size(), 48u);
  EXPECT_THAT(common, AllOf(HasSubstr("--preset"), HasSubstr("--peer"), HasSubstr("--help-all"),
                            Not(HasSubstr("--call-timeout"))));
  EXPECT_THAT(nf4bench({"run", "--help-all"}).out,
              AllOf(HasSubstr("--preset"), HasSubstr("--call-timeout"), HasSubstr("Exit codes"),
                    Not(HasSubstr("--options "))));
}

TEST(Help, NamesEveryCommand) {
  const Outcome outcome = nf4bench({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* command : {"run", "list", "inspect", "synth", "dequantize"}) {
    EXPECT_THAT(outcome.out, HasSubstr(std::string("\n  ") + command));
  }
}

TEST(Usage, WithoutACommandNamesTheCommands) {
  EXPECT_THAT(refusal({}), AllOf(HasSubstr("run"), HasSubstr("--help")));
}

TEST(Usage, WhatIsMissingIsExplained) {
  EXPECT_THAT(refusal({"list"}),
              HasSubstr("what is required: variants, devices, presets or cards"));
  EXPECT_THAT(refusal({"completion"}), HasSubstr("shell is required: bash, zsh or fish"));
  EXPECT_THAT(refusal({"run", "--device"}), HasSubstr("--device needs a value; see"));
  EXPECT_THAT(refusal({"run", "--max-time", "1", "--max-time", "2"}),
              HasSubstr("--max-time is given 2 times; wanted once; see"));
  EXPECT_THAT(refusal({"synth", "-o", "x/", "--shape", "4x4", "--dtype", "stored"}),
              AllOf(HasSubstr("\"stored\" is not one of"), Not(HasSubstr("float32, stored"))));
  EXPECT_THAT(refusal({"doctor", "--operation", "experts"}), HasSubstr("is not one of"));
  EXPECT_THAT(refusal({"export"}), HasSubstr("report is required: A report as \"nf4bench run"));
  EXPECT_THAT(refusal({"export", "report.json"}), HasSubstr("--to is required: csv, markdown"));
  EXPECT_THAT(refusal({"synth", "--shape", "4x4"}), HasSubstr(".npy files; see nf4bench synth"));
}

TEST(Usage, MisspeltWordsOfEveryCommandGetSuggestions) {
  const ScratchFolder scratch;
  const std::string report = scratch.path("report.json");
  nf4bench({"run", "--device", "cpu", "--shape", "64x64", "--cache", "hot", "--no-ceilings",
            "--max-time", "0.01", "--min-samples", "3", "--quiet", "--json", report});
  const std::string input = sample("llama_layer.safetensors");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"dequantise", "x"}, "Did you mean dequantize?"},
      {{"--versoin"}, "Did you mean --version?"},
      {{"run", "--shpae", "64x64"}, "Did you mean --shape?"},
      {{"run", "--device", "cpu", "--shape", "4x4", "--variant", "smid"}, "simd"},
      {{"run", "--device", "cpu", "--shape", "4x4", "--baseline", "multipass"}, "mean multi_pass?"},
      {{"run", "--device", "cpu", "--preset", "llama-3-8b"}, "llama-3.1-8b"},
      {{"run", "--shape", "4x4", "--device", "cdua"}, "cuda"},
      {{"run", "--shape", "4x4", "--dtype", "flaot16"}, "float16?"},
      {{"run", "--shape", "4x4", "--dtype", "float16,stored"}, "stands alone"},
      {{"run", "--shape", "4x4", "--cache", "colt"}, "Did you mean"},
      {{"run", "--shape", "4x4", "--launch", "grahp"}, "graph?"},
      {{"run", "--shape", "4x4", "--verify", "sampeld"}, "Did you mean sampled?"},
      {{"run", "--shape", "4x4", "--samples", "sumary"}, "Did you mean summary?"},
      {{"list", "variant"}, "Did you mean variants?"},
      {{"synth", "-o", "x/", "--shape", "4x4", "--distribution", "nromal"}, "mean normal?"},
      {{"dequantize", input, "-o", "x.safetensors", "--device", "cup"}, "Did you mean cpu"},
      {{"dequantize", input, "-o", "x.safetensors", "--device", "cpu", "--variant", "smid"},
       "simd"},
      {{"dequantize", input, "-o", "x.safetensors", "--dtype", "stord"}, "Did you mean stored?"},
      {{"compare", report, report, "--metric", "tiem"}, "Did you mean time?"},
      {{"compare", report, report, "--format", "markdwn"}, "Did you mean markdown?"},
      {{"compare", report, report, "--allow", "drivr"}, "Did you mean driver?"},
      {{"compare", report, report, "--variant", "smid"}, "Did you mean simd?"},
      {{"history", report, "--metric", "speedpu"}, "Did you mean speedup?"},
      {{"history", report, "--variant", "smid"}, "Did you mean simd?"},
      {{"export", report, "--to", "cvs"}, "Did you mean csv?"},
      {{"export", report, "--to", "github-action", "--metric", "spedup"}, "mean speedup?"},
  };
  for (const auto& [words, suggestion] : cases) EXPECT_THAT(refusal(words), HasSubstr(suggestion));
}

TEST(Usage, RunWithoutAnInputSuggestsTheSampleAndAPreset) {
  EXPECT_THAT(refusal({"run", "--device", "cpu"}),
              AllOf(HasSubstr("data/llama_layer.safetensors"), HasSubstr("--preset llama-3.1-8b")));
}

TEST(Usage, NumbersThatAreNoneOrOutOfRangeAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--min-samples", "0"},   {"--min-samples", "ten"}, {"--max-time", "-1"},
      {"--max-time", "nan"},    {"--precision", "2"},     {"--precision", "NaN"},
      {"--min-samples", "2.5"}, {"--seed", "-1"},         {"--blocksize", "48"},
      {"--shape", "64xx64"}};
  for (const auto& [option, value] : cases) {
    EXPECT_THAT(refusal({"run", "--device", "cpu", "--shape", "64x64", option, value}),
                HasSubstr(option));
  }
  EXPECT_THAT(refusal({"run", "--shape", "64x64", "--min-samples", "0"}),
              HasSubstr("found \"0\", wanted an integer from 1 to 1000000"));
}

// As tables print them, and as other programs call them.
TEST(Usage, OtherNamesOfTypesAreTaken) {
  EXPECT_THAT(nf4bench({"run", "--device", "cpu", "--shape", "64x64", "--dry-run", "--dtype",
                        "bf16,half,fp16,single"}),
              AllOf(Ends(0), Prints(HasSubstr("bfloat16, float16, float32"))));
}

TEST(Usage, PlainAndNestedExcludeEachOther) {
  EXPECT_THAT(refusal({"run", "--shape", "64x64", "--plain", "--nested"}), HasSubstr("--nested"));
}

TEST(Usage, MalformedRegularExpressionIsRefused) {
  EXPECT_THAT(refusal({"run", "--device", "cpu", "--shape", "64x64", "--tensor", "(["}),
              HasSubstr("--tensor"));
}

TEST(Usage, ControlCharactersInArgumentsAreShownEscaped) {
  EXPECT_THAT(refusal({"run\x1b[31m"}), HasSubstr("\\x1b[31m"));
}

}  // namespace
}  // namespace nf4bench::test
