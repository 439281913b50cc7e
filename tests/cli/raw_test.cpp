// Inputs that do not describe themselves: --raw and --shape-of, and the hints that lead there.

#include "cli/decoded_file.hpp"
#include "cli/outcome.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kWeight = "s2x3x64.weight";

// The arrays of one nested weight under the names that people give them.
class RawInput : public testing::Test {
 protected:
  RawInput() {
    const std::vector<std::pair<std::string, std::string>> names = {
        {"", "weight"},
        {".absmax", "absmax"},
        {".quant_map", "code"},
        {".nested_absmax", "nested_absmax"},
        {".nested_quant_map", "nested_quant_map"}};
    for (const auto& [suffix, name] : names) {
      fs::copy(sample(fmt::format("npy/{}{}.npy", kWeight, suffix)), file(name));
    }
  }

  std::string file(const std::string& name) const { return scratch_.path(name + ".npy"); }
  std::string folder() const { return scratch_.path(""); }
  std::string path(const std::string& name) const { return scratch_.path(name); }

  // What --raw takes.
  std::string spec(const std::string& shape = "2x3x64") const {
    const json state = json::parse(read_file(sample("npy/" + kWeight + ".quant_state.json")));
    return fmt::format(
        "weight={},absmax={},shape={},blocksize=64,nested_absmax={},nested_map={},offset={},"
        "quant_map={},dtype=float16",
        file("weight"), file("absmax"), shape, file("nested_absmax"), file("nested_quant_map"),
        state.at("nested_offset").dump(), file("code"));
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(RawInput, FolderOfOtherNamesSaysWhichNamesAreWanted) {
  for (const std::string command : {"inspect", "run"}) {
    EXPECT_THAT(
        nf4bench({command, folder()}),
        AllOf(Ends(3, AllOf(HasSubstr("no NF4 tensor in"), HasSubstr("W.absmax.npy"),
                            HasSubstr("W.quant_map.npy"), HasSubstr("W.quant_state.json"),
                            HasSubstr("--raw weight=weight.npy,absmax=absmax.npy,shape=OUTxIN"))),
              Prints(IsEmpty())));
  }
}

TEST_F(RawInput, ArchiveOfOtherNamesSaysHowItsMembersAreNamed) {
  std::string bytes = read_file(sample("npz/savez.npz"));
  for (std::size_t at = bytes.find(".weight."); at != std::string::npos;
       at = bytes.find(".weight.", at + 1)) {
    if (bytes.compare(at, 11, ".weight.npy") != 0) bytes[at + 7] = '_';
  }
  const std::string archive = path("arrays.npz");
  std::ofstream(archive) << bytes;
  EXPECT_THAT(
      nf4bench({"run", archive}),
      Ends(3, AllOf(HasSubstr("with a member W belong W.absmax, W.quant_map"),
                    HasSubstr("once they are unpacked (unzip), by --raw weight=weight.npy"))));
}

TEST_F(RawInput, FileAloneLeadsToRaw) {
  EXPECT_THAT(nf4bench({"inspect", file("weight")}).err, HasSubstr("--raw weight=FILE"));
}

TEST_F(RawInput, DequantizeGivesTheBytesOfBitsandbytes) {
  const auto expected = expected_of("odd_shapes.safetensors").at(kWeight);
  for (const char* dtype : {"float16", "bfloat16", "float32"}) {
    ASSERT_THAT(nf4bench({"dequantize", "--raw", spec(), "-o", path("out.safetensors"), "--device",
                          "cpu", "--dtype", dtype}),
                Ends(0, HasSubstr("wrote 1 tensor to")));
    const auto decoded = read_decoded(path("out.safetensors"));
    ASSERT_TRUE(decoded.contains("weight"));
    EXPECT_EQ(decoded.at("weight").sha256, expected.sha256.at(dtype));
  }
}

TEST_F(RawInput, RunMeasuresItBesideOtherInputs) {
  const Outcome outcome =
      nf4bench({"run", "--raw", spec() + ",name=a", "--raw", spec() + ",name=b", "--shape", "64x64",
                "--device", "cpu", "--variant", "simd", "--max-time", "0.02", "--no-ceilings",
                "--all-tensors", "--quiet", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<std::string> names;
  const json report = json::parse(outcome.out);
  for (const json& tensor : report.at("tensors")) names.push_back(tensor.at("name"));
  EXPECT_THAT(names, testing::ElementsAre("a", "b", "64x64"));
}

TEST_F(RawInput, InspectShowsIt) {
  const json tensor = json_of(nf4bench({"inspect", "--raw", spec(), "--json"})).at("tensors").at(0);
  EXPECT_EQ(tensor.at("name"), "weight");
  EXPECT_EQ(tensor.at("source"), file("weight"));
  EXPECT_EQ(tensor.at("nested"), true);
  EXPECT_EQ(tensor.at("dtype"), "float16");
}

TEST_F(RawInput, BadSpecificationIsAUsageError) {
  EXPECT_THAT(nf4bench({"inspect", "--raw", "weight=w.npy"}),
              Ends(2, HasSubstr("--raw: there is no absmax=")));
}

TEST_F(RawInput, OneInputIsWanted) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"inspect"},
           {"inspect", sample("dtypes.safetensors"), "--raw", spec()},
           {"dequantize", "-o", path("out.safetensors")}}) {
    EXPECT_THAT(nf4bench(arguments),
                Ends(2, HasSubstr("wanted one input: a file or folder with NF4 tensors, or "
                                  "--raw weight=W.npy")));
  }
}

const std::vector<std::string> kShapes = {"--shape-of", "gate_up_proj=192x128", "--shape-of",
                                          "down_proj=128x96"};

std::vector<std::string> with_shapes(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), kShapes.begin(), kShapes.end());
  return arguments;
}

TEST(ExpertStackInput, IsReadWithItsShapes) {
  const json tensors =
      json_of(nf4bench(with_shapes({"inspect", sample("moe/experts4bit.safetensors"), "--json"})))
          .at("tensors");
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors.at(0).at("shape"), (json{2, 128, 96}));
  EXPECT_EQ(tensors.at(1).at("shape"), (json{2, 192, 128}));
}

TEST(ExpertStackInput, IsReadWithTheConfigOfItsModel) {
  const ScratchFolder scratch;
  fs::copy(sample("moe/experts4bit.safetensors"), scratch.path("model.safetensors"));
  std::ofstream(scratch.path("config.json"))
      << R"({"hidden_size": 128, "moe_intermediate_size": 96, "num_experts": 2})";
  const json tensors = json_of(nf4bench({"inspect", scratch.path(""), "--json"})).at("tensors");
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors.at(0).at("shape"), (json{2, 128, 96}));
  EXPECT_EQ(tensors.at(1).at("shape"), (json{2, 192, 128}));
}

TEST(ExpertStackInput, ShapeOfNoStackIsAUsageError) {
  EXPECT_THAT(nf4bench(with_shapes(
                  {"inspect", sample("moe/experts4bit.safetensors"), "--shape-of", "up_proj=8x8"})),
              Ends(2, HasSubstr("--shape-of: no stack of experts in the input is called "
                                "\"up_proj\"")));
}

}  // namespace
}  // namespace nf4bench::test
