#include "json/json_text.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace nf4bench {
namespace {

TEST(JsonText, KeepsShortContainersOnOneLine) {
  const json::JsonText object =
      json::json_object({{"read", json::json_integer(3)}, {"none", json::json_null()}});
  EXPECT_EQ(object.text, R"({"read": 3, "none": null})");
  EXPECT_EQ(json::json_array({json::json_bool(true), json::json_bool(false)}).text,
            "[true, false]");
}

TEST(JsonText, GivesMembersOfLongContainersALineEach) {
  const json::JsonText inner = json::json_array(
      {json::json_string(std::string(60, 'a')), json::json_string(std::string(60, 'b'))});
  const std::string expected = "{\n  \"x\": 1,\n  \"y\": [\n    \"" + std::string(60, 'a') +
                               "\",\n    \"" + std::string(60, 'b') + "\"\n  ]\n}";
  EXPECT_EQ(json::json_object({{"x", json::json_integer(1)}, {"y", inner}}).text, expected);
}

TEST(JsonText, WritesEmptyContainers) {
  EXPECT_EQ(json::json_object({}).text, "{}");
  EXPECT_EQ(json::json_array({}).text, "[]");
  EXPECT_EQ(json::json_numbers({}).text, "[]");
}

TEST(JsonText, KeepsThousandsOfNumbersOnOneLine) {
  const std::vector<double> samples(5000, 1.25e-5);
  EXPECT_EQ(json::json_numbers(samples).text.find('\n'), std::string::npos);
}

TEST(JsonText, EscapesWhatStringsMayHold) {
  EXPECT_EQ(json::json_string("a\"b\\c\n\x01").text, R"("a\"b\\c\n\u0001")");
  EXPECT_EQ(json::json_string("bl\xc3\xb6").text, "\"bl\xc3\xb6\"");
}

TEST(JsonText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json::json_string("a\xff").text, "\"a\xef\xbf\xbd\"");
}

TEST(JsonText, WritesEmptyStringsAsNullOnlyWhereAsked) {
  EXPECT_EQ(json::json_string("").text, "\"\"");
  EXPECT_EQ(json::json_string_or_null("").text, "null");
  EXPECT_EQ(json::json_string_or_null("x").text, "\"x\"");
}

TEST(JsonText, WritesNoNumberThatJsonLacks) {
  EXPECT_EQ(json::json_number(std::nan("")).text, "null");
  EXPECT_EQ(json::json_number(std::numeric_limits<double>::infinity()).text, "null");
  const double broken[] = {1.0, -std::numeric_limits<double>::infinity()};
  EXPECT_EQ(json::json_numbers(broken).text, "null");
}

TEST(JsonText, WritesWholeNumbersWithoutExponent) {
  EXPECT_EQ(json::json_number(1.98e9).text, "1980000000");
  EXPECT_EQ(json::json_number(1e-4).text, "0.0001");
  EXPECT_EQ(json::json_number(1.25e-5).text, "1.25e-05");
  EXPECT_EQ(json::json_number(0.0).text, "0");
}

TEST(JsonText, WritesTheEndsOfTheIntegerRanges) {
  EXPECT_EQ(json::json_integer(std::numeric_limits<std::int64_t>::min()).text,
            "-9223372036854775808");
  EXPECT_EQ(json::json_unsigned(std::numeric_limits<std::uint64_t>::max()).text,
            "18446744073709551615");
}

TEST(JsonText, WritesDoublesThatReadBackBitForBit) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const double back = std::strtod(json::json_number(value).text.c_str(), nullptr);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(value))
        << json::json_number(value).text;
  }
}

}  // namespace
}  // namespace nf4bench
