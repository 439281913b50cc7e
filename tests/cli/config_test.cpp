#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// A run that takes no longer than it must.
constexpr char kShortRun[] = R"([run]
device = "cpu"
shape = "64x64"
variant = "simd"
baseline = "none"
cache = "hot"
no-ceilings = true
max-time = 0.02
min-samples = 3
quiet = true
json = "-"
)";

class Config : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::ofstream(file()) << text;
    return file();
  }

  std::string file() const { return scratch_.path("bench.toml"); }

  // Runs with the words and variables given.
  static Outcome run(const std::vector<std::string>& words,
                     const std::vector<std::string>& variables = {}) {
    Command command = nf4bench_command(words);
    command.environment.insert(command.environment.end(), variables.begin(), variables.end());
    return Process(command).wait();
  }

  static json report(const std::vector<std::string>& words,
                     const std::vector<std::string>& variables = {}) {
    return silent_json_of(run(words, variables));
  }

  // What is said of a file that cannot be used.
  std::string complaint(const std::string& text) {
    const Outcome outcome = run({"run", "--config", write(text)});
    EXPECT_EQ(outcome.exit_code, 2) << text << outcome.out;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, StartsWith("nf4bench: error: "));
    return outcome.err;
  }

  std::string with_place(int line) const { return file() + ":" + std::to_string(line) + ": "; }

 private:
  ScratchFolder scratch_;
};

std::string dtype_of(const json& report) {
  return report.at("measurements").at(0).at("output_dtype");
}

TEST_F(Config, FileSetsOptionsBeforeAndAfterTheCommand) {
  write(kShortRun);
  EXPECT_EQ(report({"--config", file(), "run"}).at("settings").at("min_samples"), 3);
  EXPECT_EQ(report({"run", "--config", file()}).at("settings").at("min_samples"), 3);
}

TEST_F(Config, VariableNamesTheFile) {
  write(kShortRun);
  EXPECT_EQ(report({"run"}, {"NF4BENCH_CONFIG=" + file()}).at("settings").at("min_samples"), 3);
}

TEST_F(Config, OptionNamesAnotherFileThanTheVariable) {
  write(kShortRun);
  EXPECT_EQ(run({"run", "--config", file()}, {"NF4BENCH_CONFIG=/does/not/exist"}).exit_code, 0);
}

TEST_F(Config, FlagsComeBeforeTheEnvironmentAndThatBeforeTheFileAndThatBeforeDefaults) {
  write(kShortRun);
  const std::string variable = "NF4BENCH_RUN_DTYPE=float16";
  EXPECT_EQ(dtype_of(report({"run", "--config", file()})), "bfloat16");
  write(std::string(kShortRun) + "dtype = 'float32'\n");
  EXPECT_EQ(dtype_of(report({"run", "--config", file()})), "float32");
  EXPECT_EQ(dtype_of(report({"run", "--config", file()}, {variable})), "float16");
  EXPECT_EQ(dtype_of(report({"run", "--config", file(), "--dtype", "bfloat16"}, {variable})),
            "bfloat16");
}

TEST_F(Config, ListOfAHigherLayerReplacesThatOfALowerOne) {
  write(std::string(kShortRun) + "dtype = ['float32', 'float16']\n");
  EXPECT_EQ(report({"run", "--config", file()}).at("measurements").size(), 2u);
  EXPECT_EQ(report({"run", "--config", file(), "--dtype", "bfloat16"}).at("measurements").size(),
            1u);
}

TEST_F(Config, EmptyVariableSaysNothing) {
  write(std::string(kShortRun) + "dtype = 'float32'\n");
  EXPECT_EQ(dtype_of(report({"run", "--config", file()}, {"NF4BENCH_RUN_DTYPE="})), "float32");
}

TEST_F(Config, FlagOfTheFileIsSwitchedOffAbove) {
  write(kShortRun);
  EXPECT_THAT(run({"run", "--config", file(), "--json", "", "--quiet=false"}).out,
              HasSubstr("simd"));
  EXPECT_THAT(run({"run", "--config", file(), "--json", ""}, {"NF4BENCH_RUN_QUIET=0"}).out,
              HasSubstr("simd"));
}

TEST_F(Config, OptionThatExcludesOneOfALowerLayerWins) {
  write(std::string(kShortRun) + "nested = true\n");
  const auto is_nested = [](const json& report) { return report.at("tensors").at(0).at("nested"); };
  EXPECT_EQ(is_nested(report({"run", "--config", file()})), true);
  EXPECT_EQ(is_nested(report({"run", "--config", file(), "--plain"})), false);
  EXPECT_EQ(is_nested(report({"run", "--config", file()}, {"NF4BENCH_RUN_PLAIN=yes"})), false);
}

TEST_F(Config, OptionsOfOneLayerThatExcludeEachOtherAreRefused) {
  EXPECT_THAT(complaint("[run]\nshape = '64x64'\nplain = true\nnested = true\n"),
              AllOf(HasSubstr("--plain"), HasSubstr("--nested")));
}

TEST_F(Config, WhatIsSetAboveIsCheckedAllTheSame) {
  write(std::string(kShortRun) + "dtype = 'flaot16'\n");
  EXPECT_THAT(run({"run", "--config", file(), "--dtype", "bfloat16"}),
              Ends(2, HasSubstr("bench.toml:12: ")));
}

TEST_F(Config, VariableOfARepeatedOptionHoldsValuesBetweenSemicolons) {
  write(kShortRun);
  const json two = report({"run", "--config", file()}, {"NF4BENCH_RUN_SHAPE=32x64;64x32"});
  EXPECT_EQ(two.at("tensors").size(), 2u);
}

TEST_F(Config, PositionalArgumentsAndRequiredOptionsMayComeFromBoth) {
  write("[synth]\nshape = ['a=64x64', 'b=32x64']\noutput = '" + file() + ".safetensors'\n");
  EXPECT_EQ(run({"synth", "--config", file()}).exit_code, 0);
  write("[inspect]\ninput = '" + file() + ".safetensors'\njson = true\n");
  EXPECT_EQ(report({"inspect", "--config", file()}).at("tensors").size(), 2u);
  EXPECT_EQ(report({"inspect"},
                   {"NF4BENCH_INSPECT_INPUT=" + file() + ".safetensors", "NF4BENCH_INSPECT_JSON=1"})
                .at("tensors")
                .size(),
            2u);
}

TEST_F(Config, FusedConfigurationHasItsOwnVariable) {
  write(kShortRun);
  const json named = report({"run", "--config", file()}, {"NF4BENCH_FUSED=some_name"});
  EXPECT_THAT(named.at("command"), Contains("--fused-config=some_name"));
  const json both = report({"run", "--config", file()},
                           {"NF4BENCH_FUSED=a_name", "NF4BENCH_RUN_FUSED_CONFIG=other_name"});
  EXPECT_THAT(both.at("command"),
              AllOf(Contains("--fused-config=other_name"), Not(Contains("--fused-config=a_name"))));
}

TEST_F(Config, ReportHoldsACommandLineThatDoesTheSameWithoutFileAndEnvironment) {
  write(std::string(kShortRun) + "dtype = 'float32'\n");
  const json first = report({"run", "--seed", "7", "--config", file()},
                            {"NF4BENCH_RUN_PRECISION=0.25", "NF4BENCH_RUN_THREADS=1"});
  const auto command = first.at("command").get<std::vector<std::string>>();
  EXPECT_THAT(command, AllOf(Contains("--precision=0.25"), Not(Contains("--config"))));
  const json second = report({command.begin() + 1, command.end()});
  EXPECT_EQ(first.at("settings"), second.at("settings"));
  EXPECT_EQ(first.at("tensors"), second.at("tensors"));
  EXPECT_EQ(second.at("settings").at("precision"), 0.25);
}

TEST_F(Config, WhatTheEnvironmentTurnsOffStaysOffInTheCommandLine) {
  write(std::string(kShortRun) + "energy = true\n");
  const json first = report({"run", "--config=" + file()}, {"NF4BENCH_RUN_ENERGY=no"});
  const auto command = first.at("command").get<std::vector<std::string>>();
  EXPECT_THAT(command, Each(AllOf(Not(StartsWith("--config")), Not(StartsWith("--energy")))));
}

TEST_F(Config, SectionsOfOtherCommandsDoNotMatter) {
  write(std::string(kShortRun) + "[compare]\ngate = true\nthreshold = 0.03\nnoise = '1%'\n");
  report({"run", "--config", file()});
}

TEST_F(Config, NoFileIsLookedForUnasked) {
  const ScratchFolder scratch;
  std::ofstream(scratch.path("nf4bench.toml")) << kShortRun;
  const Outcome outcome = shell("cd '" + scratch.path(".") + "' && \"$NF4BENCH\" run");
  EXPECT_THAT(outcome.err, HasSubstr("run needs something to measure"));
}

TEST_F(Config, UnknownKeyIsNamedWithPlaceAndSuggestion) {
  EXPECT_THAT(complaint("[run]\n\ndevic = 'cpu'\n"),
              AllOf(HasSubstr(with_place(3)), HasSubstr("Did you mean device")));
  EXPECT_THAT(complaint("[run]\nmax_time = 1\n"), HasSubstr("Did you mean max-time?"));
  EXPECT_THAT(complaint("[compare]\nthreshhold = 1\n"), HasSubstr("Did you mean threshold?"));
}

TEST_F(Config, WhatRunsForeignCodeIsTakenFromTheCommandLineAlone) {
  for (const char* text :
       {"[run]\npeer = 'mine=./libmine.so'\n", "[compare]\nconfirm = 'true'\n"}) {
    EXPECT_THAT(run({"run", "--config", write(text)}),
                Ends(2, AllOf(HasSubstr("bench.toml:2: --"),
                              HasSubstr("is taken from the command line alone"))));
  }
  EXPECT_THAT(run({"run", "--config", write(kShortRun)}, {"NF4BENCH_RUN_PEER=mine=./libmine.so"}),
              Ends(0, HasSubstr("NF4BENCH_RUN_PEER in the environment is passed over: --peer is "
                                "taken from the command line alone")));
}

TEST_F(Config, UnknownSectionIsNamedWithPlaceAndSuggestion) {
  EXPECT_THAT(complaint("\n[rnu]\n"), AllOf(HasSubstr(with_place(2)), HasSubstr("mean run?")));
  EXPECT_THAT(complaint("[run.device]\nname = 'cpu'\n"), HasSubstr(with_place(1)));
}

TEST_F(Config, KeyOutsideOfSectionsIsToldWhereItBelongs) {
  EXPECT_THAT(complaint("device = 'cpu'\n"), AllOf(HasSubstr(with_place(1)), HasSubstr("[run]")));
}

TEST_F(Config, WrongTypeIsNamedWithPlaceKeyAndWhatIsWanted) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"max-time = '1'", "max-time: found the string \"1\", wanted a number"},
      {"min-samples = 2.5", "min-samples: found the number 2.5, wanted an integer"},
      {"quiet = 1", "quiet: found the integer 1, wanted true or false"},
      {"device = true", "device: found true, wanted a string"},
      {"device = ['cpu']", "device: found an array, wanted a string"},
      {"shape = [64]", "shape: found the integer 64, wanted a string or an array"},
  };
  for (const auto& [line, expected] : cases) {
    EXPECT_THAT(complaint("[run]\n" + line + "\n"), HasSubstr(with_place(2) + expected));
  }
}

TEST_F(Config, ValueOutOfRangeIsNamedWithPlaceWhoeversSectionItIsIn) {
  EXPECT_THAT(complaint("[run]\nmin-samples = 0\n"), HasSubstr(with_place(2)));
  EXPECT_THAT(complaint("[run]\nmax-time = nan\n"), HasSubstr(with_place(2)));
  EXPECT_THAT(complaint("[synth]\ndtype = 'flaot16'\n"),
              AllOf(HasSubstr(with_place(2)), HasSubstr("Did you mean float16")));
}

TEST_F(Config, ValueThatOnlyTheRunCanJudgeIsNamedWithPlace) {
  EXPECT_THAT(complaint("[run]\nshape = '64x64'\ndevice = 'cpu'\nbaseline = 'multipass'\n"),
              AllOf(HasSubstr("Did you mean multi_pass?"), HasSubstr(file() + ":4")));
  EXPECT_THAT(complaint("[run]\nshape = '64by64'\n"), HasSubstr(file() + ":2"));
}

TEST_F(Config, WhatIsNoTomlOrNoOptionTakesIsNamedWithPlace) {
  const std::vector<std::tuple<std::string, int, std::string>> cases = {
      {"[run\n", 1, "not TOML"},
      {"[run]\ndevice = cpu\n", 2, "value type"},
      {"[run]\nseed = 1\nseed = 2\n", 3, "redefine existing integer 'seed'"},
      {"[run]\njson = \"C:\\dir\"\n", 2, "unknown escape sequence"},
      {"[run]\njson = \"\xff\"\n", 2, "not TOML"},
      {"[run]\nshape = [\n'1x2',\n'3x4' 5]\n", 4, "not TOML"},
      {"[run]\njson = '''\n\n'''\n[s", 5, "not TOML"},
      {std::string("[run]\nseed = 1\0", 15), 2, "not TOML"},
      {"a = " + std::string(100000, '['), 1, "not TOML"},
      {"[[run]]\nseed = 1\n", 1, "one pair of brackets"},
      {"[run]\nmax-time = inf\n", 2, "max-time: wanted a finite number"},
      {"[run]\nseed = 2026-11-21\n", 2, "a date or a time"},
      {"[run]\nseed = 12:30:00\n", 2, "a date or a time"},
      {"[run]\nshape = [{b = 1}]\n", 2, "no option takes tables"},
      {"[run]\nshape = [\n1\n]\n", 2, "found the integer 1"},  // the line of the key
  };
  for (const auto& [text, line, problem] : cases) {
    EXPECT_THAT(complaint(text), AllOf(HasSubstr(with_place(line)), HasSubstr(problem))) << text;
  }
}

TEST_F(Config, TablesMayBeWrittenInline) {
  write(
      "run = { device = 'cpu', shape = ['64x64'], quiet = true, max-time = 0.01, "
      "min-samples = 0x3, no-ceilings = true, cache = 'hot' }\ncompare.gate = true\n[doctor]\n");
  EXPECT_EQ(run({"run", "--config", file()}).exit_code, 0);
}

TEST_F(Config, FileThatCannotBeReadIsAUsageError) {
  EXPECT_THAT(run({"run", "--config", "/does/not/exist.toml"}),
              Ends(2, HasSubstr("/does/not/exist.toml")));
  EXPECT_EQ(run({"run", "--config", "/"}).exit_code, 2);
  EXPECT_EQ(run({"run", "--config", "/dev/zero"}).exit_code, 2);
}

TEST_F(Config, TwoFilesAreRefused) {
  write(kShortRun);
  EXPECT_EQ(run({"--config", file(), "run", "--config", file()}).exit_code, 2);
}

TEST_F(Config, HelpNeedsNoFile) {
  EXPECT_EQ(run({"run", "--config", "/does/not/exist.toml", "--help"}).exit_code, 0);
}

TEST_F(Config, BadVariableIsNamed) {
  const auto complaint_of = [](const std::string& setting) {
    const Outcome outcome = run({"run", "--shape", "64x64", "--device", "cpu"}, {setting});
    EXPECT_EQ(outcome.exit_code, 2);
    return outcome.err;
  };
  EXPECT_THAT(complaint_of("NF4BENCH_RUN_MAX_TIME=soon"), HasSubstr("NF4BENCH_RUN_MAX_TIME: "));
  EXPECT_THAT(complaint_of("NF4BENCH_RUN_QUIET=maybe"), HasSubstr("NF4BENCH_RUN_QUIET: "));
  EXPECT_THAT(complaint_of("NF4BENCH_RUN_CACHE=colt"),
              AllOf(HasSubstr("NF4BENCH_RUN_CACHE: "), HasSubstr("Did you mean cold")));
}

TEST_F(Config, VariableThatNamesNoOptionGetsAWarningWithASuggestion) {
  write(kShortRun);
  EXPECT_THAT(run({"run", "--config", file()}, {"NF4BENCH_RUN_DEVCE=cpu"}),
              Ends(0, AllOf(HasSubstr("warning: NF4BENCH_RUN_DEVCE"),
                            HasSubstr("Did you mean NF4BENCH_RUN_DEVICE"))));
}

}  // namespace
}  // namespace nf4bench::test
