#include "json/json_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

TEST(JsonText, GivesEveryMemberALineWhereAsked) {
  constexpr json::JsonLayout kLayout = json::JsonLayout::kExpanded;
  const json::JsonText shape = json::json_array_of(std::vector{3, 4}, json::json_integer, kLayout);
  EXPECT_EQ(shape.text, "[\n  3,\n  4\n]");
  EXPECT_EQ(
      json::json_object({{"shape", shape}, {"none", json::json_array({}, kLayout)}}, kLayout).text,
      "{\n  \"shape\": [\n    3,\n    4\n  ],\n  \"none\": []\n}");
}

TEST(JsonText, KeepsLongContainersOnOneLineWhereAsked) {
  const std::string word(60, 'a');
  const std::vector<json::JsonMember> members = {{"x", json::json_string(word)},
                                                 {"y", json::json_string(word)}};
  const std::string quoted = '"' + word + '"';
  EXPECT_EQ(json::json_object(members, json::JsonLayout::kOneLine).text,
            "{\"x\": " + quoted + ", \"y\": " + quoted + "}");
  EXPECT_EQ(json::json_object(members, json::JsonLayout::kCompact).text,
            "{\"x\":" + quoted + ",\"y\":" + quoted + "}");
}

TEST(JsonText, WritesBlanksInCompactContainersNowhere) {
  EXPECT_EQ(json::json_strings({"a", "b c"}, json::JsonLayout::kCompact).text, R"(["a","b c"])");
}

TEST(JsonText, EscapesTheNamesOfMembers) {
  EXPECT_EQ(json::json_object({{"a\"b\n", json::json_null()}}).text, R"({"a\"b\n": null})");
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

TEST(JsonText, WritesInNumbersWhatATerminalWouldActOn) {
  EXPECT_EQ(json::json_string("\x1b\x7f\xc2\x9b").text, R"("\u001b\u007f\u009b")");
  EXPECT_EQ(json::json_string("a\xe2\x80\xae"
                              "b\xef\xbb\xbf")
                .text,
            R"("a\u202eb\ufeff")");
  const std::string tag = "\xf3\xa0\x81\x81";  // U+E0041, beyond 16 bits
  EXPECT_EQ(json::json_string(tag).text, R"("\udb40\udc41")");
  EXPECT_EQ(nlohmann::json::parse(json::json_string(tag).text), tag);
}

TEST(JsonText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json::json_string("a\xff").text, "\"a\xef\xbf\xbd\"");
}

// The oracle is another writer of JSON.
TEST(JsonText, WritesAnyBytesAsAnIndependentWriterDoes) {
  constexpr std::string_view kBytes =
      "a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xdf\xe0\xe1\xec\xed\xef"
      "\xf0\xf1\xf3\xf4\xf5\xff\"\\/\b\f\n\r\t\x01\x1f";
  std::mt19937_64 random(11);
  for (int i = 0; i < 100000; ++i) {
    std::string text;
    for (std::uint64_t n = random() % 9; n > 0; --n) text += kBytes[random() % kBytes.size()];
    const auto replace = nlohmann::json::error_handler_t::replace;
    const nlohmann::json written =
        nlohmann::json::parse(nlohmann::json(text).dump(-1, ' ', false, replace));
    ASSERT_EQ(nlohmann::json::parse(json::json_string(text).text), written);
  }
}

TEST(JsonText, WritesFloatsAsPythonDoes) {
  EXPECT_EQ(json::json_float(2.0).text, "2.0");
  EXPECT_EQ(json::json_float(-0.0).text, "-0.0");
  EXPECT_EQ(json::json_float(3352320000000.0).text, "3352320000000.0");
  EXPECT_EQ(json::json_float(1e16).text, "1e+16");
  EXPECT_EQ(json::json_float(1.25e-5).text, "1.25e-05");
  EXPECT_EQ(json::json_float(std::nan("")).text, "null");
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
