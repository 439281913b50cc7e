#include "cli/outcome.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

json inspected(const std::string& file) {
  return silent_json_of(nf4bench({"inspect", sample(file), "--json"}));
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

TEST(Inspect, FileThatIsMissingOrCutIsOneLineThatNamesIt) {
  const ScratchFolder scratch;
  for (const std::string file : {"npz/savez.npz", "llama_layer.safetensors"}) {
    const std::string path = scratch.path(std::filesystem::path(file).filename());
    const std::string cut = "head -c 1000 '" + sample(file) + "' > '" + path + "'";
    for (const std::string& command : {std::string("true"), cut}) {
      shell(command);
      const Outcome outcome = nf4bench({"inspect", path});
      EXPECT_THAT(outcome, AllOf(Ends(3, HasSubstr(path)), Prints(IsEmpty())));
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    }
  }
}

TEST(Inspect, OfAFileWithoutNf4TensorsSaysOnceWhatItHolds) {
  EXPECT_THAT(nf4bench({"inspect", sample("fp4.safetensors")}),
              AllOf(Ends(3, HasSubstr("found 1 FP4")), Prints(IsEmpty())));
  const Outcome outcome = nf4bench({"inspect", sample("fp4.safetensors"), "--json"});
  EXPECT_THAT(outcome, Ends(3, HasSubstr("FP4")));
  const json found = json::parse(outcome.out);
  EXPECT_THAT(found.at("tensors"), IsEmpty());
  EXPECT_EQ(found.at("others").at(0).at("kind"), "FP4");
}

TEST(Inspect, TableHasALineAGeometry) {
  const Outcome outcome = nf4bench({"inspect", sample("moe/per_expert.safetensors")});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(
      lines_of(outcome.out),
      ElementsAre("tensors  shape   blocksize  absmax  dtype     stored as    packed   state  "
                  "status  first tensor",
                  "      2  128x96         64  nested  bfloat16  uint8      12.0 KiB  2568 B  "
                  "ok      model.layers.0.mlp.experts.0.down_proj.weight",
                  "      4  96x128         64  nested  bfloat16  uint8      24.0 KiB  5136 B  "
                  "ok      model.layers.0.mlp.experts.0.gate_proj.weight"));
}

TEST(Inspect, AllListsEachTensor) {
  const Outcome outcome = nf4bench({"inspect", sample("moe/per_expert.safetensors"), "--all"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(lines_of(outcome.out).size(), 7u);
  EXPECT_THAT(outcome.out, AllOf(Not(HasSubstr("tensors")), HasSubstr("experts.1.up_proj.weight")));
}

TEST(Inspect, TensorSelectsByName) {
  const Outcome outcome = nf4bench(
      {"inspect", sample("llama_layer.safetensors"), "--all", "--tensor", "gate_proj|k_proj"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(lines_of(outcome.out).size(), 3u);
  EXPECT_THAT(nf4bench({"inspect", sample("llama_layer.safetensors"), "--tensor", "head"}),
              Ends(2, HasSubstr("--tensor: \"head\" matches no NF4 tensor")));
}

TEST(Inspect, FitsTheTerminalButIsWholeInAPipe) {
  for (const int width : {40, 60, 80, 100}) {
    for (const bool all : {false, true}) {
      Command command = nf4bench_command({"inspect", sample("llama_layer.safetensors")});
      if (all) command.arguments.emplace_back("--all");
      command.environment.push_back("COLUMNS=" + std::to_string(width));
      const Outcome outcome = Process(command).wait();
      for (const std::string& line : lines_of(outcome.out)) {
        EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << line;
      }
      EXPECT_THAT(outcome.out, AllOf(HasSubstr("704x256"), HasSubstr("weight"), HasSubstr("ok")));
    }
  }
  EXPECT_THAT(nf4bench({"inspect", sample("llama_layer.safetensors"), "--all"}).out,
              HasSubstr("model.layers.0.self_attn.q_proj.weight"));
}

// Two weights without quant states: nothing is known of them but their names.
TEST(Inspect, ShowsNothingThatItDoesNotKnow) {
  const std::string file = sample("moe/experts4bit.safetensors");
  const Outcome table = nf4bench({"inspect", file});
  EXPECT_EQ(table.exit_code, 3);
  EXPECT_THAT(lines_of(table.out).at(1), testing::MatchesRegex(" +2 +unusable .*"));
  EXPECT_THAT(table.out, AllOf(Not(HasSubstr("nested")), Not(HasSubstr("bfloat16"))));
  const Outcome outcome = nf4bench({"inspect", file, "--json"});
  const json found = json::parse(outcome.out);
  for (const json& tensor : found.at("tensors")) {
    for (const char* field : {"shape", "elements", "blocksize", "nested", "dtype", "storage",
                              "packed_bytes", "state_bytes"}) {
      EXPECT_TRUE(tensor.at(field).is_null()) << field;
    }
    EXPECT_FALSE(tensor.at("problem").is_null());
  }
}

}  // namespace
}  // namespace nf4bench::test
