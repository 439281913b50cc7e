// The three layouts in which experts are saved, as bitsandbytes wrote and decoded them.

#include "base/sha256.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/raw_files.hpp"
#include "nf4/reference.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace nf4bench::testing {
namespace {

const std::vector<io::StackShape> kShapes = {
    {.name = "gate_up_proj", .outputs = 192, .inputs = 128},
    {.name = "down_proj", .outputs = 128, .inputs = 96}};
const std::string kGateUp = "model.layers.0.mlp.experts.gate_up_proj";
const std::string kAbsmax = "model.layers.0.mlp.experts.gate_up_absmax";

std::string decoded_hash(const io::Checkpoint& checkpoint, const io::TensorEntry& entry) {
  Sha256 hash;
  hash.update(nf4::reference_dequantize(checkpoint.load(entry), nf4::OutputType::kBfloat16));
  return hash.hex();
}

io::Checkpoint open(const StateDict& entries, const std::vector<io::StackShape>& shapes) {
  static const TemporaryFolder folder;
  write_raw(folder / "stack.safetensors", to_safetensors(entries));
  return io::Checkpoint::open(folder / "stack.safetensors", shapes);
}

// Only the gate_up stack, and its problem.
StateDict stack() {
  StateDict entries = read_state_dict(data_file("moe/experts4bit.safetensors"));
  std::erase_if(entries,
                [](const RawTensor& t) { return t.name.find("down") != std::string::npos; });
  return entries;
}

std::string problem_of(const StateDict& entries, const std::vector<io::StackShape>& shapes) {
  const io::Checkpoint checkpoint = open(entries, shapes);
  EXPECT_EQ(checkpoint.tensors().size(), 1u);
  EXPECT_TRUE(checkpoint.others().empty());
  return checkpoint.tensors().empty() ? "" : checkpoint.tensors().front().problem;
}

TEST(ExpertStack, AllThreeLayoutsDecodeToTheBytesOfBitsandbytes) {
  std::ifstream table(data_file("moe/expected.txt"));
  std::size_t compared = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string file, name, shape, sha256;
    words >> file >> name >> shape >> sha256;
    SCOPED_TRACE(file + " " + name);
    const io::Checkpoint checkpoint = io::Checkpoint::open(data_file("moe/" + file), kShapes);
    for (const io::TensorEntry& entry : checkpoint.tensors()) {
      if (entry.name != name) continue;
      ++compared;
      ASSERT_EQ(entry.problem, "");
      EXPECT_EQ(nf4::shape_to_string(entry.shape), shape);
      EXPECT_EQ(decoded_hash(checkpoint, entry), sha256);
    }
  }
  EXPECT_EQ(compared, 10u);
}

TEST(ExpertStack, WithoutAShapeIsRefusedByNameAndSaysWhatToGive) {
  expect_part(
      problem_of(stack(), {}),
      "tensor \"model.layers.0.mlp.experts.gate_up_proj\": shape: found a stack of 2 experts "
      "with 24576 values each and no quant state, wanted --shape-of gate_up_proj=NxK");
}

TEST(ExpertStack, OfAnUnknownShapeStatesNothing) {
  const io::TensorEntry entry = open(stack(), {}).tensors().front();
  EXPECT_FALSE(entry.has_state());
  EXPECT_FALSE(entry.storage.has_value());
  EXPECT_TRUE(entry.is_expert_stack);
}

TEST(ExpertStack, BlocksizeFollowsFromTheSizes) {
  const io::TensorEntry entry = open(stack(), kShapes).tensors().front();
  EXPECT_EQ(entry.problem, "");
  EXPECT_EQ(entry.blocksize, 64);
  EXPECT_EQ(entry.absmax_kind, nf4::AbsmaxKind::kPlain);
  EXPECT_EQ(entry.shape, (std::vector<std::int64_t>{2, 192, 128}));
  EXPECT_EQ(entry.state_bytes, 2 * 384 * 4);
}

TEST(ExpertStack, ShapeMustHaveAsManyValuesAsAnExpert) {
  expect_part(problem_of(stack(), {{.name = "gate_up_proj", .outputs = 192, .inputs = 127}}),
              "--shape-of: found 192x127, wanted two numbers whose product is 24576");
}

TEST(ExpertStack, IsNamedByItsNameOrTheEndOfItAfterADot) {
  const io::StackShape shape = {.name = "gate_up_proj", .outputs = 1, .inputs = 1};
  EXPECT_TRUE(shape.names("gate_up_proj"));
  EXPECT_TRUE(shape.names(kGateUp));
  EXPECT_FALSE(shape.names("model.other_gate_up_proj"));
  EXPECT_FALSE(shape.names("up_proj"));
}

TEST(ExpertStack, ScalesMustFillBlocksOfALegalSize) {
  StateDict entries = stack();
  at(entries, kAbsmax).shape = {2, 383};
  at(entries, kAbsmax).bytes.resize(std::size_t{2} * 383 * 4);
  expect_part(problem_of(entries, kShapes),
              "absmax: found 383 scales for the 24576 values of an expert, wanted one for each 32");
  at(entries, kAbsmax).shape = {2, 3};
  at(entries, kAbsmax).bytes.resize(std::size_t{2} * 3 * 4);
  expect_part(problem_of(entries, kShapes), "absmax: found 3 scales for the 24576 values");
}

TEST(ExpertStack, CountsOfExpertsMustAgree) {
  StateDict entries = stack();
  at(entries, kAbsmax).shape = {1, 768};
  expect_part(problem_of(entries, kShapes),
              "expert stack: found U8 [2, 12288] beside absmax F32 [1, 768], wanted U8 [experts, "
              "N*K/2] beside F32 [experts, N*K/blocksize]");
}

TEST(ExpertStack, CodesOfNestedScalesAreRefusedByName) {
  StateDict entries = stack();
  RawTensor& absmax = at(entries, kAbsmax);
  absmax = {.name = kAbsmax + "_q", .dtype = "U8", .shape = {2, 384}, .bytes = {}};
  absmax.bytes.resize(std::size_t{2} * 384);
  expect_part(problem_of(entries, kShapes), "beside absmax U8 [2, 384], wanted");
}

TEST(ExpertStack, AnAbsmaxBesideNoPackedWeightIsNoStack) {
  StateDict entries = stack();
  at(entries, kGateUp).dtype = "I8";
  const io::Checkpoint checkpoint = open(entries, kShapes);
  EXPECT_TRUE(checkpoint.tensors().empty());
  EXPECT_EQ(checkpoint.others().size(), 2u);
}

}  // namespace
}  // namespace nf4bench::testing
