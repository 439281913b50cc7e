// The three layouts in which experts are saved, as bitsandbytes wrote and decoded them.

#include "base/sha256.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/raw_files.hpp"
#include "nf4/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
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
  const std::string problem =
      problem_of(stack(), {{.name = "gate_up_proj", .outputs = 192, .inputs = 127}});
  EXPECT_TRUE(
      problem.ends_with("--shape-of: found 192x127, wanted two numbers whose product is 24576"))
      << problem;
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

template <class T>
RawTensor raw(const std::string& name, const char* dtype, std::vector<std::uint64_t> shape,
              const std::vector<T>& values) {
  RawTensor tensor = {.name = name, .dtype = dtype, .shape = std::move(shape), .bytes = {}};
  tensor.bytes.resize(values.size() * sizeof(T));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

// The same with nested scales, as experts4bit-qlora names them: 768 codes in three groups, which
// are not those of the two experts.
StateDict nested_stack() {
  StateDict entries = stack();
  std::vector<std::uint8_t> codes(768);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i * 7);
  std::vector<float> map(256);
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = static_cast<float>(i) / 256.0f;
  at(entries, kAbsmax) = raw(kAbsmax + "_q", "U8", {2, 384}, codes);
  entries.push_back(raw(kAbsmax + "_s", "F32", {3}, std::vector{1.0f, 2.0f, 4.0f}));
  entries.push_back(raw(kAbsmax + "_code", "F32", {256}, map));
  entries.push_back(raw(kAbsmax + "_off", "F32", {1}, std::vector{0.5f}));
  return entries;
}

TEST(ExpertStack, MayHaveNestedScalesUnderTheirOwnNames) {
  const io::Checkpoint checkpoint = open(nested_stack(), kShapes);
  ASSERT_EQ(checkpoint.tensors().size(), 1u);
  EXPECT_TRUE(checkpoint.others().empty());
  EXPECT_EQ(checkpoint.tensors().front().problem, "");
  EXPECT_EQ(checkpoint.tensors().front().state_bytes, 768 + 3 * 4 + 256 * 4);
  const nf4::Nf4Tensor tensor = checkpoint.load(checkpoint.tensors().front());
  EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{2, 192, 128}));
  ASSERT_TRUE(tensor.is_nested());
  EXPECT_EQ(tensor.nested_absmax, (std::vector{1.0f, 2.0f, 4.0f}));
  EXPECT_EQ(tensor.nested_map[255], 255.0f / 256.0f);
  EXPECT_EQ(tensor.nested_offset, 0.5f);
  EXPECT_EQ(tensor.absmax_codes[300], static_cast<std::uint8_t>(300 * 7));
}

TEST(ExpertStack, NamesWhatIsWrongWithNestedScales) {
  for (const auto& [ending, field] :
       {std::pair("_s", "nested_absmax"), std::pair("_code", "nested_quant_map"),
        std::pair("_off", "nested_offset")}) {
    StateDict entries = nested_stack();
    const std::string missing = kAbsmax + ending;
    std::erase_if(entries, [&](const RawTensor& t) { return t.name == missing; });
    expect_part(problem_of(entries, kShapes),
                std::string(field).append(": found nothing, wanted a tensor ").append(missing));
  }
  StateDict entries = nested_stack();
  at(entries, kAbsmax + "_s").shape = {3, 1};
  expect_part(problem_of(entries, kShapes), "nested_absmax: found F32 [3, 1], wanted F32 [3]");
  entries = nested_stack();
  at(entries, kAbsmax + "_off") = raw(kAbsmax + "_off", "F32", {1}, std::vector{INFINITY});
  expect_part(problem_of(entries, kShapes), "nested_offset: found inf, wanted a finite value");
  entries = nested_stack();
  at(entries, kAbsmax + "_q").dtype = "I8";
  expect_part(problem_of(entries, kShapes), "beside absmax I8 [2, 384], wanted");
}

TEST(ExpertStack, AnAbsmaxBesideNoPackedWeightIsNoStack) {
  StateDict entries = stack();
  at(entries, kGateUp).dtype = "I8";
  const io::Checkpoint checkpoint = open(entries, kShapes);
  EXPECT_TRUE(checkpoint.tensors().empty());
  EXPECT_EQ(checkpoint.others().size(), 2u);
}

// What the fixture's config.json would say: two experts, 192x128 and 128x96.
const std::string kConfig =
    R"({"model_type": "qwen3_moe", "hidden_size": 128, "intermediate_size": 512,
        "moe_intermediate_size": 96, "num_experts": 2})";

// The experts of a model, with `config` as its config.json.
class ModelWithConfig : public ::testing::Test {
 protected:
  io::Checkpoint open(const std::string& config, const std::vector<io::StackShape>& shapes = {}) {
    std::filesystem::copy_file(data_file("moe/experts4bit.safetensors"), file_,
                               std::filesystem::copy_options::overwrite_existing);
    write_raw(folder_ / "config.json", config);
    return io::Checkpoint::open(file_, shapes);
  }

  std::string problem(const std::string& config) {
    return open(config).tensors().back().problem;  // of gate_up_proj
  }

  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "model.safetensors";
};

using Shapes = std::vector<std::vector<std::int64_t>>;

Shapes shapes_of(const io::Checkpoint& checkpoint) {
  Shapes shapes;
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    EXPECT_EQ(entry.problem, "");
    shapes.push_back(entry.shape);
  }
  return shapes;
}

TEST_F(ModelWithConfig, SaysTheShapesOfItsExperts) {
  const Shapes wanted = {{2, 128, 96}, {2, 192, 128}};
  EXPECT_EQ(shapes_of(open(kConfig)), wanted);
  EXPECT_EQ(shapes_of(io::Checkpoint::open(folder_.path())), wanted);
}

TEST_F(ModelWithConfig, MaySayThemOfTheLanguageModelInIt) {
  EXPECT_EQ(shapes_of(open(R"({"num_experts": 77, "text_config": )" + kConfig +
                           R"(, "vision_config": {"hidden_size": 5}})")),
            (Shapes{{2, 128, 96}, {2, 192, 128}}));
}

TEST_F(ModelWithConfig, MayCallThemAsMixtralDoes) {
  EXPECT_EQ(shapes_of(open(R"({"hidden_size": 128, "intermediate_size": 96,
                               "num_local_experts": 2})")),
            (Shapes{{2, 128, 96}, {2, 192, 128}}));
}

TEST_F(ModelWithConfig, IsOverruledByTheCommandLine) {
  const io::Checkpoint checkpoint =
      open(kConfig, {{.name = "gate_up_proj", .outputs = 96, .inputs = 256}});
  EXPECT_EQ(shapes_of(checkpoint), (Shapes{{2, 128, 96}, {2, 96, 256}}));
}

TEST_F(ModelWithConfig, SaysWhatTheModelDoesWithExperts) {
  const io::Checkpoint checkpoint =
      open(R"({"num_experts_per_tok": 4, "model_type": "gpt_oss", "hidden_act": "silu"})");
  const io::ModelExperts experts = io::model_experts(checkpoint.model_config());
  EXPECT_EQ(experts.top_k, 4);
  EXPECT_EQ(experts.model_type, "gpt_oss");
  EXPECT_EQ(experts.activation, "silu");
  EXPECT_EQ(io::model_experts(open("[]").model_config()).top_k, 0);
  EXPECT_EQ(io::model_experts(open(R"({"num_experts_per_tok": -1})").model_config()).top_k, 0);
}

TEST_F(ModelWithConfig, IsAFileThatWasRead) {
  EXPECT_EQ(open(kConfig).files().config, folder_ / "config.json");
  write_raw(file_, read_raw(data_file("moe/per_expert.safetensors")));
  EXPECT_EQ(io::Checkpoint::open(file_).files().config, "");
}

TEST_F(ModelWithConfig, MustImplyThem) {
  const std::string begin =
      "shape: found a stack of 2 experts with 24576 values each, no quant "
      "state and a config.json that ";
  const std::string end = ", wanted --shape-of gate_up_proj=NxK";
  expect_part(problem(R"({"num_experts": 2})"), begin + "has no usable hidden_size" + end);
  expect_part(problem(R"({"num_experts": 2, "hidden_size": 128})"),
              begin + "has neither a usable moe_intermediate_size nor intermediate_size" + end);
  expect_part(problem(R"({"intermediate_size": 96, "hidden_size": 128})"),
              begin + "has no usable num_experts" + end);
  expect_part(problem(R"({"hidden_size": "128", "intermediate_size": 96, "num_experts": 2})"),
              begin + "has no usable hidden_size" + end);
  expect_part(problem(R"({"hidden_size": 128, "intermediate_size": 18446744073709551615,
                          "num_experts": 2})"),
              begin + "has neither a usable moe_intermediate_size");
  expect_part(problem(R"({"model_type": "gpt_oss", "hidden_size": 128, "intermediate_size": 96,
                          "num_local_experts": 2})"),
              begin + "is of a gpt_oss model, which keeps its experts transposed" + end);
}

TEST_F(ModelWithConfig, MustFitTheSizesOfTheWeights) {
  expect_part(problem(R"({"hidden_size": 64, "intermediate_size": 96, "num_experts": 2})"),
              "gate_up_proj\": config.json: found 192x64, wanted two numbers whose product is "
              "24576; or --shape-of gate_up_proj=NxK");
  expect_part(problem(R"({"hidden_size": 128, "intermediate_size": 96, "num_experts": 3})"),
              "config.json: found 3 experts, wanted 2; or --shape-of gate_up_proj=NxK");
}

TEST_F(ModelWithConfig, ThatCannotBeReadIsNoMoreThanOneThatSaysNothing) {
  expect_part(problem("{"), "a config.json that cannot be read (config.json: ");
  expect_part(problem("[]"), "found an array, wanted an object)");
  std::filesystem::remove(folder_ / "config.json");
  std::filesystem::create_directory(folder_ / "config.json");
  expect_part(io::Checkpoint::open(file_).tensors().back().problem,
              "a config.json that cannot be read (");
}

TEST_F(ModelWithConfig, OfOtherTensorsIsNotRead) {
  write_raw(folder_ / "config.json", "{");
  write_raw(file_, read_raw(data_file("moe/per_expert.safetensors")));
  const io::Checkpoint checkpoint = io::Checkpoint::open(file_);
  for (const io::TensorEntry& entry : checkpoint.tensors()) EXPECT_EQ(entry.problem, "");
}

}  // namespace
}  // namespace nf4bench::testing
