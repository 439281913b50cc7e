#include "cli/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

json inspected(const std::string& file) {
  const Outcome outcome = nf4bench({"inspect", sample(file), "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  return json::parse(outcome.out);
}

TEST(Inspect, DescribesATensorAsItsStateDoes) {
  const json tensors = inspected("llama_layer.safetensors").at("tensors");
  ASSERT_EQ(tensors.size(), 4u);
  const json& down = tensors.at(0);
  EXPECT_EQ(down.at("name"), "model.layers.0.mlp.down_proj.weight");
  EXPECT_EQ(down.at("shape"), (json{256, 704}));
  EXPECT_EQ(down.at("elements"), 256 * 704);
  EXPECT_EQ(down.at("blocksize"), 64);
  EXPECT_EQ(down.at("nested"), true);
  EXPECT_EQ(down.at("dtype"), "bfloat16");
  EXPECT_EQ(down.at("packed_bytes"), 256 * 704 / 2);
  EXPECT_TRUE(down.at("problem").is_null());
}

TEST(Inspect, SaysWhichStorageHoldsThePackedWeight) {
  std::vector<std::string> storages;
  const json found = inspected("quant_storage.safetensors");
  for (const json& tensor : found.at("tensors")) {
    storages.push_back(tensor.at("storage"));
  }
  EXPECT_THAT(storages, testing::IsSupersetOf({"bfloat16", "float16", "float32"}));
}

TEST(Inspect, DescribesTensorsOfANumpyArchive) {
  for (const char* file : {"npz/savez.npz", "npz/savez_compressed.npz"}) {
    const json tensors = inspected(file).at("tensors");
    ASSERT_EQ(tensors.size(), 2u);
    EXPECT_EQ(tensors.at(1).at("name"), "s5x77.weight");
    EXPECT_EQ(tensors.at(1).at("shape"), (json{5, 77}));
    EXPECT_EQ(tensors.at(1).at("packed_bytes"), 193);
    EXPECT_TRUE(tensors.at(1).at("problem").is_null());
  }
}

TEST(Inspect, TruncatedArchiveIsOneLineThatNamesIt) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("cut.npz");
  shell("head -c 1000 '" + sample("npz/savez.npz") + "' > '" + path + "'");
  const Outcome outcome = nf4bench({"inspect", path});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("cut.npz: the archive is cut short"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
}

TEST(Inspect, TableHasALineATensor) {
  const Outcome outcome = nf4bench({"inspect", sample("llama_layer.safetensors")});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 5);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("704x256"), HasSubstr("nested")));
}

TEST(Inspect, NamesFp4ForWhatItIs) {
  const Outcome outcome = nf4bench({"inspect", sample("fp4.safetensors"), "--json"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("FP4"));
  const json found = json::parse(outcome.out);
  EXPECT_THAT(found.at("tensors"), IsEmpty());
  EXPECT_EQ(found.at("others").at(0).at("kind"), "FP4");
}

TEST(Inspect, MissingFileIsOneLineThatNamesIt) {
  const Outcome outcome = nf4bench({"inspect", "no/such/file.safetensors"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("no/such/file.safetensors"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
}

TEST(Inspect, TruncatedFileIsOneLineThatNamesIt) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("cut.safetensors");
  shell("head -c 1000 '" + sample("llama_layer.safetensors") + "' > '" + path + "'");
  const Outcome outcome = nf4bench({"inspect", path});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("cut.safetensors"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
}

}  // namespace
}  // namespace nf4bench::test
