#include "cli/decoded_file.hpp"
#include "cli/outcome.hpp"

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
  return nf4bench(Words{"synth", "-o", output} + more);
}

TEST(Synth, WritesWhatInspectThenDescribes) {
  const ScratchFolder scratch;
  const std::string file = scratch.path("a.safetensors");
  ASSERT_THAT(synth(file, {"--shape", "a.weight=96x130", "--shape", "b.weight=7x9x11",
                           "--blocksize", "128", "--plain", "--dtype", "float16"}),
              Ends(0));
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
    {"codes", "--nested", "69fa17abe57f464e8783dd19d110b157983f0e9ad72ba8f4cb6f93b6eaafee1a"},
    {"codes", "--plain", "7351be318f19cc0a053006ff7a9f09db96ad11a474a939d1ebfdcdcbad12cf01"},
    {"normal", "--nested", "11d17990d9c1ed37f63dd0298cd4dfe3a564fad62ac81a390d381dcc5e0c35f7"},
    {"normal", "--plain", "0a4cc65f562723a603a789e5d40aea772afaf50517ac7e69b856b730b482c748"},
    {"outlier", "--nested", "fb1c85213ce7937c05c019d4a23320178e38bb318f1a57db900c11e730b95c24"},
    {"outlier", "--plain", "3821257e929a9b3ac9b3b645216f5c9c0a8218e9cbf7e6ebda03337a8927dd9d"},
    {"uniform", "--nested", "1973d4c1669b0cbf2e851fd86bbf08514936fcfaccdb28d0593efda20b0c5753"},
    {"uniform", "--plain", "8564cc9ad4726bafa279b86959e6e2d5003178ba7005d79643e7df231433e830"},
    {"extremes", "--nested", "e6bcf0be28f5b07556d16ccae8a0bb79714fba15dfc2a2fe348689bae307b174"},
    {"extremes", "--plain", "62c98d66a7dae2719dccc572e580d1626cb490ea4b5440cb49a9052ae99729e2"},
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
    EXPECT_THAT(synth(files.back(), {"--shape", "w=96x130", "--distribution", pinned.distribution,
                                     pinned.absmax}),
                Ends(0));
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
            "69fa17abe57f464e8783dd19d110b157983f0e9ad72ba8f4cb6f93b6eaafee1a");
  const json plain = tensors_of_run({"--shape", "96x130", "--plain"});
  EXPECT_EQ(plain.at(0).at("sha256"),
            "7351be318f19cc0a053006ff7a9f09db96ad11a474a939d1ebfdcdcbad12cf01");
}

TEST(Synth, OtherFileEndingsAreAUsageErrorThatNamesTheGoodOnes) {
  const ScratchFolder scratch;
  EXPECT_THAT(synth(scratch.path("a.bin"), {"--shape", "64x64"}),
              Ends(2, HasSubstr(".safetensors")));
}

TEST(Synth, OneNameTwiceIsAUsageError) {
  const ScratchFolder scratch;
  EXPECT_EQ(
      synth(scratch.path("a.safetensors"), {"--shape", "a=64x64", "--shape", "a=32x32"}).exit_code,
      2);
}

}  // namespace
}  // namespace nf4bench::test
