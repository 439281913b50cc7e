// nf4bench dequantize --complete: whole models, as transformers loads them.

#include "cli/decoded_file.hpp"
#include "cli/nf4_model.hpp"
#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kFirst = "/model-00001-of-00002.safetensors";
const std::string kSecond = "/model-00002-of-00002.safetensors";
const std::string kIndex = "/model.safetensors.index.json";

Outcome complete(const std::string& input, const std::string& output,
                 const std::vector<std::string>& more = {}) {
  return nf4bench(Words{"dequantize", input, "-o", output, "--device", "cpu", "--variant", "lut",
                        "--complete"} +
                  more);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(folder)) names.push_back(each.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

class CompleteModel : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return scratch_.path(name); }

  ScratchFolder scratch_;
  const std::string model_ = write_model_folder(scratch_.path("model"));
  const std::string out_ = scratch_.path("out");
};

TEST_F(CompleteModel, HasEveryTensorInItsShardAndEverySmallFile) {
  ASSERT_THAT(complete(model_, out_),
              Ends(0, AllOf(HasSubstr("wrote 2 tensors to "), HasSubstr("copied 4 other tens"),
                            HasSubstr("and 3 files; left out original, pytorch_model.bin\n"))));
  EXPECT_THAT(names_in(out_),
              ElementsAre("chat_template.jinja", "config.json", "model-00001-of-00002.safetensors",
                          "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                          "tokenizer.json"));
  ASSERT_EQ(
      nf4bench({"dequantize", model_, "-o", path("nf4.safetensors"), "--device", "cpu"}).exit_code,
      0);
  const auto alone = read_decoded(path("nf4.safetensors"));
  auto first = read_decoded(out_ + kFirst);
  auto second = read_decoded(out_ + kSecond);
  ASSERT_EQ(first.size(), 3u);
  ASSERT_EQ(second.size(), 3u);
  EXPECT_EQ(first.at("q_proj.weight").sha256, alone.at("q_proj.weight").sha256);
  EXPECT_EQ(second.at("k_proj.weight").sha256, alone.at("k_proj.weight").sha256);
  EXPECT_EQ(first.at("q_proj.weight").dtype, "BF16");
  EXPECT_THAT(first.at("q_proj.weight").shape, ElementsAre(64, 96));
  for (const std::string name : {"embed_tokens.weight", "norm.weight"}) {
    EXPECT_EQ(stored_bytes(out_ + kFirst, name), stored_bytes(model_ + kFirst, name));
  }
  for (const std::string name : {"lm_head.weight", "k_proj.bias"}) {
    EXPECT_EQ(stored_bytes(out_ + kSecond, name), stored_bytes(model_ + kSecond, name));
  }
  for (const std::string name : {"/tokenizer.json", "/chat_template.jinja"}) {
    EXPECT_EQ(read_file(out_ + name), read_file(model_ + name));
  }
}

TEST_F(CompleteModel, HasAnIndexOfItsOwnBytesAndPlaces) {
  ASSERT_EQ(complete(model_, out_).exit_code, 0);
  const json index = json::parse(read_file(out_ + kIndex));
  // bfloat16: q, k, embed_tokens, norm, lm_head, bias
  EXPECT_EQ(index.at("metadata").at("total_size"),
            2 * (64 * 96 + 32 * 96 + 32 * 96 + 96 + 32 * 96 + 32));
  const json first = "model-00001-of-00002.safetensors";
  const json second = "model-00002-of-00002.safetensors";
  EXPECT_EQ(index.at("weight_map"), (json{{"q_proj.weight", first},
                                          {"embed_tokens.weight", first},
                                          {"norm.weight", first},
                                          {"k_proj.weight", second},
                                          {"lm_head.weight", second},
                                          {"k_proj.bias", second}}));
}

TEST_F(CompleteModel, IsNoLongerQuantizedAndKeepsTheRestOfItsConfig) {
  ASSERT_EQ(complete(model_, out_).exit_code, 0);
  EXPECT_EQ(read_file(out_ + "/config.json"), R"({
  "architectures": ["LlamaForCausalLM"],
  "hidden_size": 96,
  "rms_norm_eps": 1e-05,
  "torch_dtype": "bfloat16",
  "vocab_size": 32
}
)");
  ASSERT_EQ(complete(model_, path("wide"), {"--dtype", "float32"}).exit_code, 0);
  EXPECT_EQ(json::parse(read_file(path("wide/config.json"))).at("torch_dtype"), "float32");
  EXPECT_EQ(read_decoded(path("wide") + kFirst).at("q_proj.weight").dtype, "F32");
}

TEST_F(CompleteModel, OfAnIndexIsThatOfItsFolder) {
  ASSERT_EQ(complete(model_ + kIndex, out_ + "/").exit_code, 0);
  EXPECT_EQ(names_in(out_).size(), 6u);
}

// The scales of these real tensors are in the other shard.
TEST_F(CompleteModel, GivesTheBytesOfBitsandbytesForRealShards) {
  ASSERT_THAT(complete(sample("sharded"), out_), Ends(0));
  const auto llama = expected_of("llama_layer.safetensors");
  const auto odd = expected_of("odd_shapes.safetensors");
  const auto decoded = read_decoded(out_ + kFirst);
  ASSERT_EQ(decoded.size(), 2u);
  for (const auto& [name, tensor] : decoded) {
    const ExpectedTensor& expected = llama.contains(name) ? llama.at(name) : odd.at(name);
    EXPECT_EQ(tensor.sha256, expected.sha256.at(expected.dtype)) << name;
  }
}

TEST_F(CompleteModel, LeavesOutAShardOfNothingButScales) {
  fs::create_directory(path("split"));
  write_split_weight(path("split/a.safetensors"), path("split/b.safetensors"));
  ASSERT_EQ(complete(path("split"), out_).exit_code, 0);
  EXPECT_THAT(names_in(out_), ElementsAre("a.safetensors"));
}

TEST_F(CompleteModel, OfOneFileIsOneFile) {
  const std::string file = write_mixed_file(path("mixed.safetensors"));
  ASSERT_THAT(complete(file, path("whole.safetensors")), Ends(0));
  const auto whole = read_decoded(path("whole.safetensors"));
  ASSERT_EQ(whole.size(), 3u);
  EXPECT_EQ(whole.at("q_proj.weight").dtype, "BF16");
  for (const std::string name : {"embed_tokens.weight", "norm.weight"}) {
    EXPECT_EQ(stored_bytes(path("whole.safetensors"), name), stored_bytes(file, name));
  }
  EXPECT_EQ(complete(file, out_).exit_code, 2);
}

TEST_F(CompleteModel, IsNeverWrittenIntoTheFolderOfItsInput) {
  const std::vector<std::string> before = names_in(model_);
  fs::create_directory_symlink("model", path("link"));
  for (const std::string& output : {model_, model_ + "/", path("link"), model_ + "/original/.."}) {
    for (const std::string& input : {model_, model_ + kIndex}) {
      EXPECT_THAT(complete(input, output, {"--force"}),
                  Ends(2, HasSubstr("is the folder of the input")))
          << output;
    }
  }
  EXPECT_EQ(names_in(model_), before);
}

TEST_F(CompleteModel, IsWrittenIntoAFolderWithFilesOnlyWithForce) {
  fs::create_directory(out_);
  EXPECT_EQ(complete(model_, out_).exit_code, 0);  // an empty folder
  const std::string config = read_file(out_ + "/config.json");
  EXPECT_THAT(complete(model_, out_, {"--dtype", "float32"}),
              Ends(2, AllOf(HasSubstr("has files in it"), HasSubstr("--force"))));
  EXPECT_EQ(read_file(out_ + "/config.json"), config);
  EXPECT_EQ(complete(model_, out_, {"--dtype", "float32", "--force"}).exit_code, 0);
  EXPECT_NE(read_file(out_ + "/config.json"), config);
}

TEST_F(CompleteModel, NeverReplacesAFileOfItsInputThroughALinkInTheOutput) {
  for (const std::string& name : {kFirst, kIndex, std::string("/tokenizer.json")}) {
    const std::string before = read_file(model_ + name);
    fs::create_directory(out_);
    fs::create_symlink(model_ + name, out_ + name);
    EXPECT_EQ(complete(model_, out_, {"--force"}).exit_code, 2) << name;
    fs::remove(out_ + name);
    fs::create_hard_link(model_ + name, out_ + name);
    EXPECT_EQ(complete(model_, out_, {"--force"}).exit_code, 2) << name;
    EXPECT_EQ(read_file(model_ + name), before);
    EXPECT_EQ(names_in(out_).size(), 1u);
    fs::remove_all(out_);
  }
}

TEST_F(CompleteModel, WantsTheNameOfAFolder) {
  EXPECT_EQ(complete(model_, path("one.safetensors")).exit_code, 2);
  EXPECT_EQ(complete(model_, "-").exit_code, 2);
  EXPECT_EQ(complete(model_, path("missing/out")).exit_code, 3);
  shell("echo mine > " + path("file"));
  EXPECT_EQ(complete(model_, path("file")).exit_code, 3);
  EXPECT_EQ(read_file(path("file")), "mine\n");
  EXPECT_EQ(complete(model_, out_, {"--tensor", "q_proj"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(CompleteModel, LeavesNothingWhenItFailsInTheMiddle) {
  shell("truncate -s -4 '" + model_ + "/config.json'");  // without its last lines
  EXPECT_THAT(complete(model_, out_), Ends(3, HasSubstr("config.json")));
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_THAT(shell("ulimit -f 8; $NF4BENCH dequantize '" + model_ + "' -o '" + out_ +
                    "' --device cpu --complete"),
              Ends(3));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(CompleteModel, KeepsAnOlderModelWhenItFailsInTheMiddle) {
  ASSERT_EQ(complete(model_, out_).exit_code, 0);
  const std::string before = read_file(out_ + kFirst);
  shell("truncate -s -4 '" + model_ + "/config.json'");
  EXPECT_EQ(complete(model_, out_, {"--force", "--dtype", "float32"}).exit_code, 3);
  EXPECT_EQ(names_in(out_).size(), 6u);
  EXPECT_TRUE(read_file(out_ + kFirst) == before);
}

TEST_F(CompleteModel, OfAnInputWithWeightsOfOtherFormatsIsRefused) {
  EXPECT_THAT(complete(sample("fp4.safetensors"), path("out.safetensors")), Ends(3));
  fs::create_directory(path("both"));
  fs::copy(sample("fp4.safetensors"), path("both/a.safetensors"));
  fs::copy(sample("llama_layer.safetensors"), path("both/b.safetensors"));
  EXPECT_THAT(complete(path("both"), out_),
              Ends(3, AllOf(HasSubstr("FP4"), HasSubstr("leave --complete out"))));
  EXPECT_FALSE(fs::exists(out_));
}

// A folder of several files without an index gets one: transformers looks for it.
TEST_F(CompleteModel, OfShardsWithoutAnIndexGetsOne) {
  fs::remove(model_ + kIndex);
  ASSERT_EQ(complete(model_, out_).exit_code, 0);
  EXPECT_EQ(json::parse(read_file(out_ + kIndex)).at("weight_map").size(), 6u);
}

TEST_F(CompleteModel, TakesLittleMemoryForATensorOfAnyLength) {
  const std::string file = write_mixed_file(path("mixed.safetensors"));
  const std::int64_t small = complete(file, path("whole.safetensors")).peak_bytes;
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  const std::string header = R"({"big":{"dtype":"U8","shape":[)" + std::to_string(kBytes) +
                             R"(],"data_offsets":[0,)" + std::to_string(kBytes) + "]}}";
  fs::create_directory(path("large"));
  fs::copy(file, path("large/a.safetensors"));
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  std::ofstream(path("large/b.safetensors"), std::ios::binary) << length << header;
  fs::resize_file(path("large/b.safetensors"), 8 + header.size() + kBytes);  // a hole
  const Outcome outcome = complete(path("large"), out_);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LT(outcome.peak_bytes, small + (std::int64_t{64} << 20));
}

}  // namespace
}  // namespace nf4bench::test
