#include "json/json_stream.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench::json {
namespace {

TEST(JsonStream, WritesMembersOnLinesOfTheirOwn) {
  std::string text;
  JsonStream stream([&](std::string_view piece) { text += piece; });
  stream.begin_object();
  stream.add("a\"", json_integer(1));
  stream.begin_array("list");
  stream.add(json_object({{"x", json_null()}}, JsonLayout::kExpanded));
  stream.begin_array();
  stream.end();
  stream.end();
  stream.begin_object("empty");
  stream.end();
  stream.end();
  stream.finish();
  EXPECT_EQ(text,
            "{\n"
            "  \"a\\\"\": 1,\n"
            "  \"list\": [\n"
            "    {\n"
            "      \"x\": null\n"
            "    },\n"
            "    []\n"
            "  ],\n"
            "  \"empty\": {}\n"
            "}\n");
}

TEST(JsonStream, HandsOnWhatItIsGivenAtOnce) {
  std::vector<std::string> pieces;
  JsonStream stream([&](std::string_view piece) { pieces.emplace_back(piece); });
  stream.begin_array();
  stream.add(json_string("one"));
  EXPECT_EQ(pieces, std::vector<std::string>{"[\n  \"one\""});
  stream.add(json_string("two"));
  EXPECT_EQ(pieces.back(), ",\n  \"two\"");
}

}  // namespace
}  // namespace nf4bench::json
