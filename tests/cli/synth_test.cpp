#include "cli/decoded_file.hpp"
#include "cli/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Outcome synth(const std::string& output, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"synth", "-o", output};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return nf4bench(arguments);
}

TEST(Synth, WritesWhatInspectThenDescribes) {
  const ScratchFolder scratch;
  const std::string file = scratch.path("a.safetensors");
  const Outcome made = synth(file, {"--shape", "a.weight=96x130", "--shape", "b.weight=7x9x11",
                                    "--blocksize", "128", "--plain", "--dtype", "float16"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const json found = json::parse(nf4bench({"inspect", file, "--json"}).out);
  ASSERT_EQ(found.at("tensors").size(), 2u);
  const json& first = found.at("tensors").at(0);
  EXPECT_EQ(first.at("name"), "a.weight");
  EXPECT_EQ(first.at("shape"), (json{96, 130}));
  EXPECT_EQ(first.at("blocksize"), 128);
  EXPECT_EQ(first.at("nested"), false);
  EXPECT_EQ(first.at("dtype"), "float16");
  EXPECT_EQ(found.at("tensors").at(1).at("shape"), (json{7, 9, 11}));
}

TEST(Synth, SameSeedGivesTheSameBytesAndAnotherSeedOthers) {
  const ScratchFolder scratch;
  const auto bytes = [&](const std::string& name, const std::string& seed) {
    const std::string file = scratch.path(name + ".safetensors");
    EXPECT_EQ(synth(file, {"--shape", "64x100", "--seed", seed}).exit_code, 0);
    return read_file(file);
  };
  const std::string once = bytes("a", "7");
  EXPECT_EQ(once, bytes("b", "7"));
  EXPECT_NE(once, bytes("c", "8"));
}

TEST(Synth, TensorsOfOneFileDiffer) {
  const ScratchFolder scratch;
  const std::string file = scratch.path("a.safetensors");
  const std::string out = scratch.path("out.safetensors");
  synth(file, {"--shape", "64x100", "--shape", "64x100"});
  ASSERT_EQ(nf4bench({"dequantize", file, "-o", out, "--device", "cpu"}).exit_code, 0);
  const auto decoded = read_decoded(out);
  ASSERT_EQ(decoded.size(), 2u);
  EXPECT_NE(decoded.begin()->second.sha256, decoded.rbegin()->second.sha256);
}

TEST(Synth, BothFormatsDecodeToTheSameValues) {
  const ScratchFolder scratch;
  const std::vector<std::string> tensors = {"--shape", "x.weight=33x65", "--shape", "y.weight=1x1"};
  ASSERT_EQ(synth(scratch.path("a.safetensors"), tensors).exit_code, 0);
  ASSERT_EQ(synth(scratch.path("folder/"), tensors).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(scratch.path("folder/x.weight.npy")));
  const auto decoded = [&](const std::string& input) {
    const std::string out = scratch.path("out.safetensors");
    EXPECT_EQ(nf4bench({"dequantize", scratch.path(input), "-o", out, "--device", "cpu"}).exit_code,
              0);
    return read_decoded(out);
  };
  const auto from_file = decoded("a.safetensors");
  const auto from_folder = decoded("folder");
  ASSERT_EQ(from_file.size(), 2u);
  for (const auto& [name, tensor] : from_file) {
    EXPECT_EQ(tensor.sha256, from_folder.at(name).sha256) << name;
  }
}

TEST(Synth, EveryDistributionDecodesExactlyWithEveryVariant) {
  const ScratchFolder scratch;
  std::vector<std::string> run = {"run",
                                  "--device",
                                  "cpu",
                                  "--cache",
                                  "hot",
                                  "--no-ceilings",
                                  "--max-time",
                                  "0.01",
                                  "--min-samples",
                                  "1",
                                  "--quiet",
                                  "--dtype",
                                  "float16,bfloat16,float32",
                                  "--json",
                                  "-"};
  for (const char* name : {"codes", "normal", "outlier", "uniform", "extremes"}) {
    run.push_back(scratch.path(std::string(name) + ".safetensors"));
    ASSERT_EQ(synth(run.back(), {"--shape", "65x129", "--distribution", name}).exit_code, 0)
        << name;
  }
  const Outcome outcome = nf4bench(run);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out).at("summary").at("tensors_verified"), 5);
}

TEST(Synth, OtherFileEndingsAreAUsageErrorThatNamesTheGoodOnes) {
  const ScratchFolder scratch;
  const Outcome outcome = synth(scratch.path("a.bin"), {"--shape", "64x64"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(".safetensors"));
}

TEST(Synth, OneNameTwiceIsAUsageError) {
  const ScratchFolder scratch;
  EXPECT_EQ(
      synth(scratch.path("a.safetensors"), {"--shape", "a=64x64", "--shape", "a=32x32"}).exit_code,
      2);
}

}  // namespace
}  // namespace nf4bench::test
