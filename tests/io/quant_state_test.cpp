#include "io/checkpoint/quant_state.hpp"

#include "io/raw_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace nf4bench::testing {
namespace {

// Byte for byte what unsloth/Qwen2.5-0.5B-Instruct-bnb-4bit holds for a v_proj.
const std::string kReal =
    R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [128, 896], )"
    R"("nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.031807661056518555})";
const std::string kPlain =
    R"({"quant_type": "nf4", "blocksize": 64, "dtype": "float16", "shape": [128, 896]})";

io::QuantState read(const std::string& text) {
  return io::read_quant_state("f: tensor \"t\"", text);
}

void expect_refusal(const std::string& text, const std::string& part) {
  const std::string message = refusal([&] { read(text); });
  EXPECT_TRUE(message.starts_with("f: tensor \"t\": ")) << message;
  expect_part(message, part);
}

// The real state with `from` replaced.
std::string with(const std::string& from, const std::string& to) {
  return replaced(kReal, from, to);
}

std::string with_offset(const std::string& offset) {
  return with("0.031807661056518555", offset);
}
std::string with_shape(const std::string& shape) {
  return with("[128, 896]", shape);
}
std::string with_blocksize(const std::string& size) {
  return with("\"blocksize\": 64", "\"blocksize\": " + size);
}

TEST(QuantState, RealStateIsRead) {
  const io::QuantState state = read(kReal);
  EXPECT_EQ(state.quant_type, "nf4");
  EXPECT_EQ(state.blocksize, 64);
  EXPECT_EQ(state.dtype, nf4::OutputType::kBfloat16);
  EXPECT_EQ(state.shape, (std::vector<std::int64_t>{128, 896}));
  EXPECT_EQ(state.elements, 128 * 896);
  EXPECT_EQ(state.absmax_kind, nf4::AbsmaxKind::kNested);
  EXPECT_EQ(state.nested_offset, 0.031807661056518555f);
  EXPECT_TRUE(state.warnings.empty());
}

TEST(QuantState, StateWithoutNestedFieldsIsPlain) {
  const io::QuantState state = read(kPlain);
  EXPECT_EQ(state.absmax_kind, nf4::AbsmaxKind::kPlain);
  EXPECT_EQ(state.dtype, nf4::OutputType::kFloat16);
}

TEST(QuantState, EmptyTruncatedAndTinyTextsAreRefused) {
  expect_refusal("", "not valid JSON");
  expect_refusal("{", "not valid JSON");
  expect_refusal(std::string(3, '\0'), "a NUL character at byte 0");
  for (std::size_t length = 1; length < kReal.size(); ++length) {
    expect_refusal(kReal.substr(0, length), "not valid JSON");
  }
}

TEST(QuantState, TrailingNulsAreIgnoredWithAWarning) {
  const io::QuantState state = read(kReal + std::string(5, '\0'));
  EXPECT_EQ(state.blocksize, 64);
  ASSERT_EQ(state.warnings.size(), 1u);
  EXPECT_NE(state.warnings[0].find("5 trailing NUL bytes ignored"), std::string::npos);
  expect_refusal(kReal + std::string("\0}", 2), "a NUL character");
}

TEST(QuantState, MoreThan64KibibytesAreRefused) {
  expect_refusal(kReal + std::string(64 << 10, ' '),
                 "JSON text: found 65707 bytes, wanted at most 65536");
}

TEST(QuantState, DuplicateFieldIsRefused) {
  expect_refusal(with("\"blocksize\": 64", "\"blocksize\": 64, \"blocksize\": 128"),
                 R"(the key "blocksize" occurs twice)");
}

TEST(QuantState, OtherDocumentsThanAnObjectAreRefused) {
  expect_refusal("[]", "JSON text: found an array, wanted an object");
  expect_refusal("64", "JSON text: found 64, wanted an object");
}

TEST(QuantState, UnknownFieldsAreIgnoredWithAWarning) {
  const io::QuantState state = read(with("{", R"({"x": {"shape": [1]}, "y": 1, )"));
  EXPECT_EQ(state.elements, 128 * 896);
  ASSERT_EQ(state.warnings.size(), 1u);
  EXPECT_NE(state.warnings[0].find("2 unknown fields ignored, the first is \"x\""),
            std::string::npos);
}

TEST(QuantState, OtherQuantTypesAreReturnedAndNotJudged) {
  EXPECT_EQ(read(R"({"quant_type": "fp4"})").quant_type, "fp4");
  EXPECT_EQ(read(R"({"quant_type": "int4", "blocksize": -1})").quant_type, "int4");
  expect_refusal(R"({"quant_type": 4})", "quant_type: found 4, wanted a string");
  expect_refusal("{}", "quant_type: found nothing, wanted a string");
}

TEST(QuantState, EveryLegalBlocksizeIsAccepted) {
  for (int size = 32; size <= 4096; size *= 2) {
    EXPECT_EQ(read(with_blocksize(std::to_string(size))).blocksize, size);
  }
}

TEST(QuantState, EveryOtherBlocksizeIsRefused) {
  for (const char* size :
       {"0", "-64", "63", "48", "1", "31", "16", "8192", "2147483648", "4294967360",
        "18446744073709551680", "64.0", "\"64\"", "null", "[64]"}) {
    SCOPED_TRACE(size);
    expect_refusal(with_blocksize(size), "blocksize: found ");
  }
  expect_refusal(with("\"blocksize\": 64, ", ""),
                 "blocksize: found nothing, wanted a power of two from 32 to 4096");
}

TEST(QuantState, NestedBlocksizeIs256) {
  for (const char* size : {"0", "64", "255", "256.0", "null", "\"256\""}) {
    SCOPED_TRACE(size);
    expect_refusal(with("256", size), "nested_blocksize: found ");
  }
  expect_refusal(with("\"nested_blocksize\": 256, ", ""), "nested_blocksize: found nothing");
}

TEST(QuantState, OffsetMustBeAFiniteFloat32) {
  for (const char* offset : {"null", "\"0.03\"", "true", "[0]", "1e39", "-3.5e38"}) {
    SCOPED_TRACE(offset);
    expect_refusal(with_offset(offset), "nested_offset: found ");
  }
  expect_refusal(with(", \"nested_offset\": 0.031807661056518555", ""),
                 "nested_offset: found nothing, wanted a number");
}

TEST(QuantState, NumberTooLargeForADoubleIsRefused) {
  expect_refusal(with_offset("1e999"),
                 R"(after the key "nested_offset": number overflow parsing '1e999')");
}

TEST(QuantState, PythonsNanAndInfinityAreNamedWithTheirField) {
  for (const char* offset : {"NaN", "Infinity", "-Infinity"}) {
    SCOPED_TRACE(offset);
    expect_refusal(
        with_offset(offset),
        R"(after the key "nested_offset": found NaN or Infinity, wanted a finite number)");
  }
}

TEST(QuantState, OffsetsAtTheEdgesAreExact) {
  EXPECT_EQ(read(with_offset("1e-45")).nested_offset, std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(read(with_offset("3.4028234663852886e+38")).nested_offset,
            std::numeric_limits<float>::max());
  EXPECT_EQ(read(with_offset("9.5e-07")).nested_offset, 9.5e-07f);
  for (const char* minus_zero : {"-0.0", "-0"}) {
    const float offset = read(with_offset(minus_zero)).nested_offset;
    EXPECT_EQ(offset, 0.0f);
    EXPECT_TRUE(std::signbit(offset)) << minus_zero;
  }
  EXPECT_EQ(read(with_offset("-3")).nested_offset, -3.0f);
  EXPECT_EQ(read(with_offset("0")).nested_offset, 0.0f);
}

TEST(QuantState, NestedDtypeIsFloat32) {
  expect_refusal(with("float32", "bfloat16"),
                 "nested_dtype: found \"bfloat16\", wanted \"float32\"");
  expect_refusal(with("\"nested_dtype\": \"float32\", ", ""), "nested_dtype: found nothing");
}

TEST(QuantState, OutputTypesAreTheThreeOfTheFormat) {
  EXPECT_EQ(read(with("bfloat16", "float32")).dtype, nf4::OutputType::kFloat32);
  for (const char* dtype : {"float64", "int8", "torch.bfloat16", "", "BF16"}) {
    SCOPED_TRACE(dtype);
    expect_refusal(with("bfloat16", dtype), "dtype: found \"" + std::string(dtype) + "\"");
  }
}

TEST(QuantState, ShapeMustBeAListOfPositiveIntegers) {
  for (const char* shape :
       {"null", "[]", "[0, 64]", "[-1, 64]", "[2.0, 64]", "[\"2\", 64]", "[[2], 64]", "64",
        "\"2x64\"", "{\"0\": 2}", "[18446744073709551615]"}) {
    SCOPED_TRACE(shape);
    expect_refusal(with_shape(shape), "shape: found ");
  }
  expect_refusal(with(", \"shape\": [128, 896]", ""), "shape: found nothing");
  expect_refusal(with_shape(fmt::format("[{}1]", repeated("1, ", 32))),
                 "shape: found a longer list");
}

TEST(QuantState, ShapesOfAnyRankAreAccepted) {
  EXPECT_EQ(read(with_shape("[7]")).elements, 7);
  EXPECT_EQ(read(with_shape("[2, 3, 4, 5, 6]")).elements, 720);
}

TEST(QuantState, ProductsThatOverflowOrPassTheLimitAreRefused) {
  expect_refusal(with_shape("[1000000000, 1000000000]"), "wanted at most 1099511627776 elements");
  expect_refusal(with_shape("[1099511627776, 1099511627776]"), "shape: found");
  EXPECT_EQ(read(with_shape("[1048576, 1048576]")).elements, std::int64_t{1} << 40);
}

}  // namespace
}  // namespace nf4bench::testing
