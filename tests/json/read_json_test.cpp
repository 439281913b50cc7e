#include "base/error.hpp"
#include "json/json_events.hpp"
#include "json/json_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <variant>

namespace nf4bench {
namespace {

// What a file of tensors is refused with; empty when it is read.
std::string refusal_of_events(const std::string& text) {
  try {
    json::read_json("f", text, [](const json::JsonEvent&) {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of_tree(const std::string& text) {
  try {
    json::parse_json(text, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

template <typename Value>
Value only_element(const std::string& text) {
  const json::JsonTree tree = json::parse_json(text, "f");
  return std::get<Value>(std::get<json::JsonTree::Array>(tree.value).at(0).value);
}

TEST(ReadJson, KeepsEveryKindOfValueInATree) {
  EXPECT_EQ(only_element<std::nullptr_t>("[null]"), nullptr);
  EXPECT_EQ(only_element<bool>("[true]"), true);
  EXPECT_EQ(only_element<bool>("[false]"), false);
  EXPECT_EQ(only_element<std::uint64_t>("[18446744073709551615]"), 18446744073709551615U);
  EXPECT_EQ(only_element<std::int64_t>("[-9007199254740993]"), -9007199254740993);
  EXPECT_EQ(only_element<double>("[2.5]"), 2.5);
  EXPECT_EQ(only_element<double>("[18446744073709551616]"), 18446744073709551616.0);
  EXPECT_EQ(only_element<std::string>(R"(["a\nb"])"), "a\nb");
  EXPECT_TRUE(only_element<json::JsonTree::Object>("[{}]").empty());
  EXPECT_EQ(std::get<std::uint64_t>(json::parse_json("7", "f").value), 7U);
}

TEST(ReadJson, KeepsTheOrderOfFieldsInATree) {
  const json::JsonTree tree = json::parse_json(R"({"b": [1, {"x": 2}], "a": 3})", "f");
  const auto& object = std::get<json::JsonTree::Object>(tree.value);
  ASSERT_EQ(object.size(), 2U);
  EXPECT_EQ(object[0].first, "b");
  EXPECT_EQ(std::get<json::JsonTree::Array>(object[0].second.value).size(), 2U);
  EXPECT_EQ(object[1].first, "a");
  EXPECT_EQ(std::get<std::uint64_t>(object[1].second.value), 3U);
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
