// What must fit together before a tensor is decoded. Each case takes a tensor that bitsandbytes
// wrote and breaks one thing.

#include "io/golden_pieces.hpp"
#include "nf4/reference.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::testing {
namespace {

TEST(Entries, UntouchedTensorsHaveNoProblem) {
  EXPECT_EQ(only_entry(nested()).problem, "");
  EXPECT_EQ(only_entry(plain()).problem, "");
}

// What is done to the nested tensor's piece of this name, and what is said of it.
struct Damage {
  std::string piece;
  std::function<void(RawTensor&)> change;
  std::string problem;
};

std::function<void(RawTensor&)> as(const std::string& dtype, std::vector<std::uint64_t> shape,
                                   std::size_t bytes) {
  return [=](RawTensor& tensor) {
    tensor.dtype = dtype;
    resize(tensor, shape, bytes);
  };
}

TEST(Entries, PiecesOfOtherSizesRanksAndTypesAreRefused) {
  for (const Damage& each : std::vector<Damage>{
           {kStateNf4, as("U8", {100'000}, 100'000),
            "quant_state: found 100000 bytes, wanted at most 65536"},
           {kStateNf4, as("F32", {25}, 100), "quant_state: found F32 [25], wanted U8 (JSON text)"},
           {kStateNf4, [](RawTensor& state) { state.name = kNested + kStateFp4; },
            "quant_type: found \"nf4\", wanted \"fp4\""},
           {".absmax", as("U8", {6}, 6), "absmax: found U8 [6], wanted U8 [7]"},
           {".absmax", as("U8", {8}, 8), "absmax: found U8 [8], wanted U8 [7]"},
           {".absmax", as("U8", {7, 1}, 7), "absmax: found U8 [7, 1], wanted U8 [7]"},
           {".absmax", as("F16", {7}, 14), "absmax: found F16 [7], wanted U8 [7]"},
           {".absmax", as("F32", {7}, 28), "absmax: found F32 beside a nested quant state"},
           {"", as("BF16", {96, 1}, 192),
            "packed weight: found 192 bytes (BF16 [96, 1]), wanted 193 for shape 5x77; the tail "
            "was lost"}}) {
    SCOPED_TRACE(each.problem);
    StateDict entries = nested();
    each.change(at(entries, kNested + each.piece));
    expect_problem(entries, each.problem);
  }
  StateDict entries = plain();
  as("U8", {640}, 640)(at(entries, kPlain + ".absmax"));
  expect_problem(entries, "absmax: found U8 codes beside a quant state without nested_ fields");
}

struct Edit {
  const char* from;
  const char* to;
  const char* problem;
};

TEST(Entries, StatesThatContradictTheirKeyOrTheWeightAreRefused) {
  for (const Edit& each :
       {Edit{"\"nf4\"", "\"fp4\"", "quant_type: found \"fp4\", wanted \"nf4\""},
        {"\"nf4\"", "\"int4\"", "quant_type: found \"int4\", wanted \"nf4\""},
        {"\"blocksize\": 64", "\"blocksize\": 63",
         "tensor \"s5x77.weight\": quant_state: blocksize: found 63, wanted a power of two"},
        {"[5, 77]", "[5, 78]",
         "packed weight: found 193 bytes (U8 [193, 1]), wanted 195 for shape 5x78"},
        {"[5, 77]", "[4, 77]",
         "packed weight: found 193 bytes (U8 [193, 1]), wanted 154 for shape 4x77"},
        {"[5, 77]", "[1000000, 1000000]", "wanted 500000000000 for shape 1000000x1000000"}}) {
    SCOPED_TRACE(each.problem);
    StateDict entries = nested();
    set_state(entries, kNested, each.from, each.to);
    expect_problem(entries, each.problem);
  }
}

TEST(Entries, OneQuantStateIsWanted) {
  StateDict entries = nested();
  RawTensor second = at(entries, kNested + kStateNf4);
  second.name = kNested + kStateFp4;
  entries.push_back(second);
  expect_problem(entries,
                 "quant_state: found both quant_state.bitsandbytes__nf4 and "
                 "quant_state.bitsandbytes__fp4, wanted one");
  entries.pop_back();
  remove(entries, kNested + kStateNf4);
  expect_problem(
      entries,
      "tensor \"s5x77.weight\": quant_state: found nothing, wanted s5x77.weight" + kStateNf4);
}

TEST(Entries, MissingPiecesAreNamed) {
  for (const char* piece : {".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"}) {
    StateDict entries = nested();
    remove(entries, kNested + piece);
    expect_problem(entries, std::string(piece).substr(1) +
                                ": found nothing, wanted a tensor s5x77.weight" + piece);
  }
  StateDict entries = nested();
  remove(entries, kNested);
  expect_problem(entries, "packed weight: found nothing, wanted a tensor s5x77.weight");
}

TEST(Entries, OneElementMoreOrLessFitsTheSameBytesAndIsBelieved) {
  StateDict entries = nested();
  set_state(entries, kNested, "[5, 77]", "[386]");
  EXPECT_EQ(only_entry(entries).problem, "");
}

TEST(Entries, SpareNibbleOfAnOddCountMayBeAnything) {
  StateDict entries = nested();
  const auto before =
      nf4::reference_dequantize(open(entries).load(only_entry(entries)), nf4::OutputType::kFloat32);
  at(entries, kNested).bytes.back() = static_cast<char>(at(entries, kNested).bytes.back() ^ 0x0f);
  const auto after =
      nf4::reference_dequantize(open(entries).load(only_entry(entries)), nf4::OutputType::kFloat32);
  EXPECT_EQ(before, after);
}

TEST(Entries, PackedWeightMayHaveAnyShapeOfItsBytes) {
  for (const auto& shape : {std::vector<std::uint64_t>{1, 193}, {193}, {193, 1}, {1, 1, 193}}) {
    StateDict entries = nested();
    at(entries, kNested).shape = shape;
    EXPECT_EQ(only_entry(entries).problem, "");
  }
}

TEST(Entries, PackedWeightMayHaveARowForEachOfTheWeight) {
  StateDict entries = plain();
  at(entries, kPlain).shape = {128, 160};
  EXPECT_EQ(only_entry(entries).problem, "");
}

TEST(Entries, PackedWeightOfOtherTypesIsRefused) {
  for (const char* type : {"I8", "BOOL", "F8_E4M3"}) {
    StateDict entries = nested();
    at(entries, kNested).dtype = type;
    expect_problem(entries, "packed weight: found " + std::string(type) +
                                " [193, 1], wanted U8, BF16, F16 or F32");
  }
  StateDict entries = plain();
  at(entries, kPlain).dtype = "F64";
  at(entries, kPlain).shape = {20480 / 8};
  expect_problem(entries, "packed weight: found F64 [2560], wanted U8, BF16, F16 or F32");
}

TEST(Entries, PackedWeightIsTheSameBytesInEveryStorageType) {
  const auto expected = open(plain()).load(only_entry(plain())).packed;
  const std::vector<std::pair<std::string, std::uint64_t>> storages = {
      {"BF16", 2}, {"F16", 2}, {"F32", 4}};
  for (const auto& [type, bytes] : storages) {
    StateDict entries = plain();
    at(entries, kPlain).dtype = type;
    at(entries, kPlain).shape = {20480 / bytes, 1};
    EXPECT_EQ(open(entries).load(only_entry(entries)).packed, expected) << type;
  }
}

TEST(Entries, PackedWeightPaddedToWholeElementsIsAccepted) {
  StateDict entries = nested();
  RawTensor& weight = at(entries, kNested);
  weight.dtype = "F32";
  resize(weight, {49, 1}, 196);
  EXPECT_EQ(only_entry(entries).problem, "");
  EXPECT_EQ(open(entries).load(only_entry(entries)).packed.size(), 193u);
  resize(weight, {50, 1}, 200);
  expect_problem(entries, "packed weight: found 200 bytes");
}

TEST(Entries, NestedPiecesBesideAPlainStateAreIgnoredWithAWarning) {
  StateDict entries = plain();
  entries.push_back({kPlain + ".nested_absmax", "F32", {1}, floats({1.0f})});
  const io::TensorEntry entry = only_entry(entries);
  EXPECT_EQ(entry.problem, "");
  ASSERT_EQ(entry.warnings.size(), 1u);
  EXPECT_NE(entry.warnings[0].find("nested_absmax is there"), std::string::npos);
}

TEST(Entries, NestedAbsmaxOneShortIsRefused) {
  StateDict entries = golden("llama_layer.safetensors", "model.layers.0.mlp.gate_proj.weight");
  resize(at(entries, "model.layers.0.mlp.gate_proj.weight.nested_absmax"), {10}, 40);
  expect_problem(entries, "nested_absmax: found F32 [10], wanted F32 [11]");
}

// 257 blocks: one more than a nested block holds, so that rounding down would be noticed.
TEST(Entries, NestedAbsmaxOneShortOfABlockBegunIsRefused) {
  const std::string weight = "s257x65.weight";
  StateDict entries = golden("odd_shapes.safetensors", weight);
  set_state(entries, weight, "[257, 65]", "[257, 64]");
  resize(at(entries, weight), {8224, 1}, 8224);
  resize(at(entries, weight + ".absmax"), {257}, 257);
  resize(at(entries, weight + ".nested_absmax"), {1}, 4);
  expect_problem(entries, "nested_absmax: found F32 [1], wanted F32 [2]");
}

}  // namespace
}  // namespace nf4bench::testing
