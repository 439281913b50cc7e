#include "plan/words.hpp"

#include "error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::plan {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr char kLeast[] = "weight=d/w.npy,absmax=a.npy,shape=3x5,blocksize=64";

template <typename Parse>
std::string refusal(Parse parse, const std::string& word) {
  const std::string error = error_of(ErrorKind::kUsage, [&] { parse(word); });
  EXPECT_FALSE(error.empty()) << word << " was not refused";
  return error;
}

std::string raw_refusal(const std::string& word) {
  return refusal(parse_raw, word);
}

TEST(RawWords, LeastIsWeightScalesShapeAndBlocksize) {
  const io::RawDump dump = parse_raw(kLeast);
  EXPECT_EQ(dump.name, "w");
  EXPECT_EQ(dump.weight, "d/w.npy");
  EXPECT_EQ(dump.absmax, "a.npy");
  EXPECT_EQ(dump.shape, (std::vector<std::int64_t>{3, 5}));
  EXPECT_EQ(dump.blocksize, 64);
  EXPECT_EQ(dump.dtype, nf4::OutputType::kBfloat16);
  EXPECT_FALSE(dump.is_nested());
}

TEST(RawWords, EverythingMayBeSaid) {
  const io::RawDump dump =
      parse_raw(std::string(kLeast) +
                ",nested_absmax=n.npy,nested_map=m.npy,offset=0.25,quant_map=c.npy,dtype=float16,"
                "name=layers.0");
  EXPECT_EQ(dump.name, "layers.0");
  EXPECT_EQ(dump.nested_absmax, "n.npy");
  EXPECT_EQ(dump.nested_map, "m.npy");
  EXPECT_EQ(dump.nested_offset, 0.25f);
  EXPECT_EQ(dump.quant_map, "c.npy");
  EXPECT_EQ(dump.dtype, nf4::OutputType::kFloat16);
}

TEST(RawWords, OffsetMayBeAFile) {
  const io::RawDump dump =
      parse_raw(std::string(kLeast) + ",nested_absmax=n.npy,nested_map=m.npy,offset=o.npy");
  EXPECT_EQ(dump.offset_file, "o.npy");
}

TEST(RawWords, WhatIsMissingIsNamed) {
  EXPECT_THAT(raw_refusal("weight=w.npy,absmax=a.npy,shape=3x5"),
              AllOf(HasSubstr("--raw: there is no blocksize="), HasSubstr("shape=OUTxIN")));
  EXPECT_THAT(raw_refusal(std::string(kLeast) + ",nested_absmax=n.npy"),
              HasSubstr("nested scales need nested_absmax=, nested_map= and offset="));
  EXPECT_THAT(raw_refusal(std::string(kLeast) + ",offset=0"), HasSubstr("nested scales need"));
}

TEST(RawWords, UnknownEmptyAndRepeatedKeysAreRefused) {
  EXPECT_THAT(raw_refusal(std::string(kLeast) + ",scale=x"), HasSubstr("found \"scale=x\""));
  EXPECT_THAT(raw_refusal(std::string(kLeast) + ",dtype="), HasSubstr("found \"dtype=\""));
  EXPECT_THAT(raw_refusal(std::string(kLeast) + ","), HasSubstr("found \"\", wanted KEY=VALUE"));
  EXPECT_THAT(raw_refusal(std::string(kLeast) + ",shape=1x1"), HasSubstr("shape is given twice"));
}

TEST(RawWords, OffsetMustBeAFiniteFloat32) {
  const std::string nested = std::string(kLeast) + ",nested_absmax=n.npy,nested_map=m.npy,offset=";
  for (const char* offset : {"nan", "inf", "-inf", "1e39"}) {
    EXPECT_THAT(raw_refusal(nested + offset), HasSubstr("is not a finite float32")) << offset;
  }
  EXPECT_THAT(raw_refusal(nested + "0.1f"), HasSubstr("\"0.1f\" is not a number"));
}

TEST(RawWords, ValuesOutOfRangeNameTheOption) {
  EXPECT_THAT(raw_refusal("weight=w,absmax=a,shape=3x-5,blocksize=64"),
              HasSubstr("--raw: \"3x-5\""));
  EXPECT_THAT(raw_refusal("weight=w,absmax=a,shape=3x5,blocksize=48"),
              HasSubstr("--raw: the blocksize 48 is not a power of two"));
  EXPECT_THAT(raw_refusal(std::string(kLeast) + ",dtype=bf17"), HasSubstr("dtype: \"bf17\""));
}

TEST(RawWords, TypesMayBeCalledAsTablesCallThem) {
  EXPECT_EQ(parse_raw(std::string(kLeast) + ",dtype=fp16").dtype, nf4::OutputType::kFloat16);
  EXPECT_EQ(parse_raw(std::string(kLeast) + ",dtype=bf16").dtype, nf4::OutputType::kBfloat16);
}

TEST(StackShapeWords, AreANameAndTwoNumbers) {
  const io::StackShape shape = parse_stack_shape("experts.gate_up_proj=1536x2048");
  EXPECT_EQ(shape.name, "experts.gate_up_proj");
  EXPECT_EQ(shape.outputs, 1536);
  EXPECT_EQ(shape.inputs, 2048);
  EXPECT_THAT(refusal(parse_stack_shape, "1536x2048"), HasSubstr("--shape-of: found"));
  EXPECT_THAT(refusal(parse_stack_shape, "=1536x2048"), HasSubstr("wanted NAME=NxK"));
  EXPECT_THAT(refusal(parse_stack_shape, "a=8x1536x2048"), HasSubstr("has 3 numbers"));
  EXPECT_THAT(refusal(parse_stack_shape, "a=8y"), HasSubstr("--shape-of: \"8y\" is not a shape"));
}

using Shape = std::vector<std::int64_t>;

TEST(Shape, MayHaveAnyRank) {
  EXPECT_EQ(plan::parse_shape("100"), (Shape{100}));
  EXPECT_EQ(plan::parse_shape("4096x14336"), (Shape{4096, 14336}));
  EXPECT_EQ(plan::parse_shape("2x3x4x5"), (Shape{2, 3, 4, 5}));
}

TEST(Shape, LargestCountIsTwoToThe63MinusOne) {
  EXPECT_EQ(plan::parse_shape("9223372036854775807"), (Shape{9223372036854775807}));
  EXPECT_THROW(plan::parse_shape("9223372036854775808"), Error);
  EXPECT_THAT(
      refusal([](const std::string& word) { plan::parse_shape(word); }, "4611686018427387904x2"),
      HasSubstr("63-bit"));
  EXPECT_NO_THROW(plan::parse_shape("4611686018427387903x2"));
}

TEST(Shape, IsOfPositiveNumbers) {
  for (const char* bad : {"", "64x", "x64", "64xx64", "0x64", "-1x64", "64by64", "1e3x64"}) {
    EXPECT_THROW(plan::parse_shape(bad), Error) << bad;
  }
}

TEST(Blocksize, IsAPowerOfTwoFrom32To4096) {
  for (int good = 32; good <= 4096; good *= 2) EXPECT_EQ(plan::check_blocksize(good), good);
  for (const int bad : {-64, 0, 16, 33, 48, 8192}) EXPECT_THROW(plan::check_blocksize(bad), Error);
}

TEST(NameFilter, MatchesAnywhereInTheName) {
  const plan::NameFilter filter("q_proj|k_proj");
  EXPECT_TRUE(filter.selects("model.layers.0.self_attn.q_proj.weight"));
  EXPECT_FALSE(filter.selects("model.layers.0.mlp.up_proj.weight"));
}

TEST(NameFilter, EmptyOneSelectsAll) {
  EXPECT_TRUE(plan::NameFilter("").selects("anything"));
}

TEST(NameFilter, SurvivesANameOfAMillionCharacters) {
  EXPECT_TRUE(plan::NameFilter("(a|b)*c?").selects(std::string(1000000, 'a')));
}

TEST(NameFilter, RefusesAMalformedExpression) {
  EXPECT_THROW(plan::NameFilter("["), Error);
  EXPECT_NO_THROW(plan::NameFilter(std::string(1000, 'a')));
  EXPECT_THROW(plan::NameFilter(std::string(1001, 'a')), Error);
}

}  // namespace
}  // namespace nf4bench::plan
