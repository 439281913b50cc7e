#include "cli/decoded_file.hpp"
#include "cli/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <iterator>
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

// What is compared across machines and builds is measured on these very bytes.
struct PinnedTensor {
  const char* distribution;
  const char* absmax;
  const char* sha256;
};

constexpr PinnedTensor kPinnedTensors[] = {
    {"codes", "--nested", "a7c6b7db8b453d56ae54db95a41568bc476546c70e134c2f67e48b92c08a0527"},
    {"codes", "--plain", "792ca95e59e54b86a0e8db1bd26fa66eefe369db6dea618b47d4995db2f2cf68"},
    {"normal", "--nested", "7d4e69d1e90c735d44db9998c47d354aefbe22687606497349a535f40dd1bf09"},
    {"normal", "--plain", "2aa72d7a9b570b2f4e6278fa405f5c8640724a6dee68059f255025daa13fbc85"},
    {"outlier", "--nested", "6e6624cb3f4cc03c8b70713d22898a7c76a96c4f4f2d9cd4db7dc55ed26b3117"},
    {"outlier", "--plain", "09932feef36bcea1e0f9b813587127cda429221fe096dc898769474f0bd34435"},
    {"uniform", "--nested", "c0ce167eebca2a5eb6969802f37893ce209c3c75b9a2c03a0685e3c143ca0405"},
    {"uniform", "--plain", "bba78923d8e0c8159644c9d4340426d1fe33a948007fdcfcb562c5376fc15fac"},
    {"extremes", "--nested", "23b057be0af8843614ad3dee4078b4dad3147ce036c543f58aee404d414ec6c4"},
    {"extremes", "--plain", "092c156ea2072b7e9b2a90896abad355e73f7c9daa0410c64a216fddd13ef798"},
};

// A run of no length, for the hashes of its inputs.
json tensors_of_run(const std::vector<std::string>& inputs) {
  std::vector<std::string> run = {
      "run",        "--device", "cpu",           "--cache",   "hot",        "--no-ceilings",
      "--dtype",    "float16",  "--variant",     "reference", "--baseline", "reference",
      "--max-time", "0.001",    "--min-samples", "1",         "--quiet",    "--json",
      "-"};
  run.insert(run.end(), inputs.begin(), inputs.end());
  return json::parse(nf4bench(run).out).at("tensors");
}

TEST(Synth, EveryDistributionKeepsItsBytesInEveryBuild) {
  const ScratchFolder scratch;
  std::vector<std::string> files;
  for (const PinnedTensor& pinned : kPinnedTensors) {
    files.push_back(scratch.path(std::to_string(files.size()) + ".safetensors"));
    const Outcome made = synth(files.back(), {"--shape", "w=96x130", "--distribution",
                                              pinned.distribution, pinned.absmax});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  files.push_back("--all-tensors");  // they are of two geometries
  const json tensors = tensors_of_run(files);
  ASSERT_EQ(tensors.size(), std::size(kPinnedTensors));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].at("sha256"), kPinnedTensors[i].sha256)
        << kPinnedTensors[i].distribution << ' ' << kPinnedTensors[i].absmax;
  }
}

TEST(Synth, ShapesOfARunKeepTheirBytesInEveryBuild) {
  const json nested = tensors_of_run({"--shape", "96x130"});
  EXPECT_EQ(nested.at(0).at("sha256"),
            "a7c6b7db8b453d56ae54db95a41568bc476546c70e134c2f67e48b92c08a0527");
  const json plain = tensors_of_run({"--shape", "96x130", "--plain"});
  EXPECT_EQ(plain.at(0).at("sha256"),
            "792ca95e59e54b86a0e8db1bd26fa66eefe369db6dea618b47d4995db2f2cf68");
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
