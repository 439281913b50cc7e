// The tables that codes index: quant_map, which must be the NF4 table, and nested_quant_map; and
// scales.

#include "io/golden_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::testing {
namespace {

TEST(CodeTables, NestedMapOfAnotherLengthOrTypeIsRefused) {
  StateDict entries = nested();
  RawTensor& map = at(entries, kNested + ".nested_quant_map");
  resize(map, {255}, 1020);
  expect_problem(entries, "nested_quant_map: found F32 [255], wanted F32 [256]");
  resize(map, {257}, 1028);
  expect_problem(entries, "nested_quant_map: found F32 [257], wanted F32 [256]");
  map.dtype = "BF16";
  resize(map, {256}, 512);
  expect_problem(entries, "nested_quant_map: found BF16 [256], wanted F32 [256]");
}

TEST(CodeTables, NestedMapMustBeFinite) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    StateDict entries = nested();
    std::memcpy(at(entries, kNested + ".nested_quant_map").bytes.data() + 40, &value, 4);
    expect_problem(entries, " at code 10, wanted finite values");
  }
}

TEST(Scales, MayBeAnythingAndAreReadAsTheyAre) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> odd = {
      kNan, kInfinity, -kInfinity, -1.0f, -0.0f, 1e-40f, std::numeric_limits<float>::max()};
  StateDict entries = plain();
  std::string& absmax = at(entries, kPlain + ".absmax").bytes;
  absmax.replace(0, odd.size() * sizeof(float), floats(odd));
  const io::Checkpoint checkpoint = open(entries);
  ASSERT_EQ(checkpoint.tensors().front().problem, "");
  const nf4::Nf4Tensor tensor = checkpoint.load(checkpoint.tensors().front());
  EXPECT_EQ(floats(tensor.absmax), absmax);
}

TEST(Scales, MayHaveAnInfiniteNestedAbsmax) {
  StateDict entries = nested();
  at(entries, kNested + ".nested_absmax").bytes = floats({std::numeric_limits<float>::infinity()});
  const io::Checkpoint checkpoint = open(entries);
  ASSERT_EQ(checkpoint.tensors().front().problem, "");
  const nf4::Nf4Tensor tensor = checkpoint.load(checkpoint.tensors().front());
  EXPECT_TRUE(std::isinf(tensor.nested_absmax.front()));
}

TEST(CodeTables, UnsortedNestedMapIsAWarning) {
  StateDict entries = nested();
  std::string& map = at(entries, kNested + ".nested_quant_map").bytes;
  std::swap_ranges(map.begin(), map.begin() + 4, map.begin() + 4);
  const io::TensorEntry entry = only_entry(entries);
  EXPECT_EQ(entry.problem, "");
  EXPECT_EQ(entry.warnings, std::vector<std::string>{"nested_quant_map is not ascending"});
}

TEST(CodeTables, NestedMapBeyondOneIsAWarning) {
  StateDict entries = nested();
  const float two = 2.0f;
  std::memcpy(at(entries, kNested + ".nested_quant_map").bytes.data() + 1020, &two, 4);
  EXPECT_EQ(only_entry(entries).warnings,
            std::vector<std::string>{"nested_quant_map has values outside [-1, 1]"});
}

std::vector<float> nf4_table() {
  std::vector<float> table;
  table.reserve(nf4::kCodes);
  for (int code = 0; code < nf4::kCodes; ++code) table.push_back(nf4::codebook_value(code));
  return table;
}

TEST(CodeTables, OtherCodeTablesAreRefused) {
  const auto refuse = [](const std::vector<float>& table, const std::string& part) {
    StateDict entries = nested();
    at(entries, kNested + ".quant_map").bytes = floats(table);
    expect_problem(entries, "quant_map: found " + part);
  };
  std::vector<float> table = nf4_table();
  for (float& value : table) value *= 2.0f;
  refuse(table, "-2 at code 0, wanted the NF4 table, -1 there");
  table = nf4_table();
  std::swap(table[3], table[4]);
  refuse(table, "-0.2844413");
  table = nf4_table();
  table[9] = std::nextafter(table[9], 1.0f);
  refuse(table, "0.160930");
  table[9] = std::numeric_limits<float>::quiet_NaN();
  refuse(table, "nan at code 9");
}

TEST(CodeTables, TheFp4TableUnderAnNf4StateIsRefused) {
  StateDict fp4 = golden("fp4.safetensors", "fp4_nested.weight");
  StateDict entries = nested();
  at(entries, kNested + ".quant_map").bytes = at(fp4, "fp4_nested.weight.quant_map").bytes;
  expect_problem(entries, "quant_map: found");
}

// The bits are what torch rounds the table to.
TEST(CodeTables, CodeTableRoundedToSixteenBitsIsAccepted) {
  const std::vector<std::uint16_t> bfloat16 = {0xbf80, 0xbf32, 0xbf06, 0xbeca, 0xbe92, 0xbe3d,
                                               0xbdba, 0x0000, 0x3da3, 0x3e25, 0x3e7c, 0x3ead,
                                               0x3ee2, 0x3f10, 0x3f39, 0x3f80};
  const std::vector<std::uint16_t> float16 = {0xbc00, 0xb992, 0xb833, 0xb652, 0xb48d, 0xb1ea,
                                              0xadd4, 0x0000, 0x2d18, 0x3126, 0x33e0, 0x3568,
                                              0x370d, 0x3880, 0x39c9, 0x3c00};
  for (const auto& [type, values] : {std::pair("BF16", bfloat16), std::pair("F16", float16)}) {
    StateDict entries = nested();
    RawTensor& map = at(entries, kNested + ".quant_map");
    map.dtype = type;
    map.bytes.assign(32, '\0');
    std::memcpy(map.bytes.data(), values.data(), 32);
    EXPECT_EQ(only_entry(entries).problem, "") << type;
    map.bytes[6] = static_cast<char>(map.bytes[6] ^ 1);
    expect_problem(entries, "at code 3, wanted the NF4 table");
  }
}

TEST(CodeTables, CodeTableOfAnotherLayoutIsRefused) {
  StateDict entries = nested();
  RawTensor& map = at(entries, kNested + ".quant_map");
  resize(map, {15}, 60);
  expect_problem(entries, "quant_map: found F32 [15], wanted F32 [16] (or BF16, F16)");
  resize(map, {4, 4}, 64);
  expect_problem(entries, "quant_map: found F32 [4, 4]");
  map.dtype = "F64";
  resize(map, {16}, 128);
  expect_problem(entries, "quant_map: found F64 [16]");
}

}  // namespace
}  // namespace nf4bench::testing
