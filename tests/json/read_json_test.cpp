#include "error_of.hpp"
#include "json/json_events.hpp"
#include "json/json_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace nf4bench {
namespace {

using test::error_of;

// What a file of tensors is refused with; empty when it is read.
std::string refusal_of_events(const std::string& text) {
  return error_of(ErrorKind::kInput,
                  [&] { json::read_json("f", text, [](const json::JsonEvent&) {}); });
}

std::string refusal_of_tree(const std::string& text) {
  return error_of(ErrorKind::kInput, [&] { json::parse_json(text, "f"); });
}

TEST(ReadJson, KeepsEveryKindOfValueInATree) {
  const auto only_element = [](const json::JsonTree& tree) {
    EXPECT_EQ(tree.at(0).kind, json::JsonKind::kBeginArray);
    EXPECT_EQ(tree.size(0), 1U);
    return tree.at(1);
  };
  using Kind = json::JsonKind;
  EXPECT_EQ(only_element(json::parse_json("[null]", "f")).kind, Kind::kNull);
  EXPECT_TRUE(only_element(json::parse_json("[true]", "f")).truth);
  EXPECT_FALSE(only_element(json::parse_json("[false]", "f")).truth);
  const json::JsonTree large = json::parse_json("[18446744073709551615]", "f");
  EXPECT_EQ(only_element(large).unsigned_value, 18446744073709551615U);
  EXPECT_EQ(only_element(large).number, 18446744073709551615.0);
  const json::JsonTree negative = json::parse_json("[-9007199254740993]", "f");
  EXPECT_EQ(only_element(negative).signed_value, -9007199254740993);
  EXPECT_EQ(only_element(negative).number, -9007199254740992.0);
  EXPECT_EQ(only_element(json::parse_json("[2.5]", "f")).number, 2.5);
  EXPECT_EQ(only_element(json::parse_json("[18446744073709551616]", "f")).kind, Kind::kFloat);
  const json::JsonTree text = json::parse_json(R"(["a\nb"])", "f");
  EXPECT_EQ(only_element(text).text, "a\nb");
  EXPECT_EQ(only_element(json::parse_json("[{}]", "f")).kind, Kind::kBeginObject);
  EXPECT_EQ(json::parse_json("7", "f").at(0).unsigned_value, 7U);
}

TEST(ReadJson, KeepsTheOrderOfFieldsInATree) {
  const json::JsonTree tree = json::parse_json(R"({"b": [1, {"x": 2}], "": [], "a": 3})", "f");
  ASSERT_EQ(tree.size(0), 3U);
  EXPECT_EQ(tree.at(1).text, "b");
  EXPECT_EQ(tree.size(2), 2U);
  const json::JsonTree::Place second = tree.behind(2);
  EXPECT_EQ(tree.at(second).kind, json::JsonKind::kKey);
  EXPECT_EQ(tree.at(second).text, "");
  EXPECT_EQ(tree.size(second + 1), 0U);
  const json::JsonTree::Place third = tree.behind(second + 1);
  EXPECT_EQ(tree.at(third).text, "a");
  EXPECT_EQ(tree.at(third + 1).unsigned_value, 3U);
}

TEST(ReadJson, HandsOutTheSignAndTheValueOfNegativeIntegers) {
  double number = 0.0;
  std::int64_t exact = 0;
  json::read_json("f", "-9007199254740993", [&](const json::JsonEvent& event) {
    number = event.number;
    exact = event.signed_value;
  });
  EXPECT_EQ(number, -9007199254740992.0);
  EXPECT_EQ(exact, -9007199254740993);
  json::read_json("f", "-0", [&](const json::JsonEvent& event) { number = event.number; });
  EXPECT_TRUE(std::signbit(number));
}

TEST(ReadJson, LimitsTheDepthOfEachUse) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(refusal_of_events(nested(127)), "");
  EXPECT_EQ(refusal_of_events(nested(128)),
            "f: JSON nesting: found more than 127 levels, wanted at most 127");
  EXPECT_EQ(refusal_of_tree(nested(32)), "");
  EXPECT_EQ(refusal_of_tree(nested(33)), "f: is nested deeper than 32 levels");
}

TEST(ReadJson, RefusesTheSameTextsInTheWordsOfEachUse) {
  EXPECT_EQ(refusal_of_events(R"({"a": {"b": 1, "b": 2}})"),
            R"(f: the key "b" occurs twice in one object)");
  EXPECT_EQ(refusal_of_tree(R"({"a": {"b": 1, "b": 2}})"), R"(f: has the field "b" twice)");
  EXPECT_EQ(
      refusal_of_events(R"({"a": NaN})"),
      R"(f: byte 7 after the key "a": found NaN or Infinity, wanted a finite number (JSON has )"
      "no others)");
  EXPECT_EQ(refusal_of_tree(R"({"a": NaN})"), "f: no valid JSON at byte 7");
  EXPECT_EQ(refusal_of_events("1e999"),
            "f: not valid JSON at byte 5: number overflow parsing '1e999'");
  EXPECT_EQ(refusal_of_tree("1e999"), "f: a number that is too large at byte 5");
}

TEST(ReadJson, RefusesWhatFollowsTheDocument) {
  EXPECT_NE(refusal_of_events("{} x"), "");
  EXPECT_NE(refusal_of_tree("{} x"), "");
  EXPECT_EQ(refusal_of_tree(" {} \n"), "");
}

}  // namespace
}  // namespace nf4bench
