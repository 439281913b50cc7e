#include "json/plain_json.hpp"

#include "base/error.hpp"
#include "json/json_events.hpp"
#include "source_dir.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace nf4bench {
namespace {

constexpr int kDepth = 8;

// An event without what is only for messages, as something that can be compared.
using Step =
    std::tuple<json::JsonKind, std::string, bool, std::uint64_t, std::int64_t, std::uint64_t>;

Step step_of(const json::JsonEvent& event) {
  const bool has_text = event.kind == json::JsonKind::kString || event.kind == json::JsonKind::kKey;
  return {event.kind,         has_text ? std::string(event.text) : "",
          event.truth,        event.unsigned_value,
          event.signed_value, std::bit_cast<std::uint64_t>(event.number)};
}

std::optional<std::vector<Step>> plainly(const std::string& text) {
  std::vector<Step> steps;
  const auto sink = [&](const json::JsonEvent& event) { steps.push_back(step_of(event)); };
  return json::PlainJson(text, kDepth, sink).read() ? std::optional(steps) : std::nullopt;
}

std::optional<std::vector<Step>> strictly(const std::string& text) {
  std::vector<Step> steps;
  const auto error = [](const json::JsonFault&) { return Error(ErrorKind::kInput, "no"); };
  try {
    json::read_json(text, {.max_depth = kDepth, .error = error},
                    [&](const json::JsonEvent& event) { steps.push_back(step_of(event)); });
  } catch (const Error&) {
    return std::nullopt;
  }
  return steps;
}

TEST(PlainJson, ReadsWhatProgramsWrite) {
  for (const char* text :
       {"7", " [ ] ", "{}", R"({"a": [1, -2, 3.5e-6, true, false, null, "x y"], "b": {"a": []}})",
        "[18446744073709551615, 18446744073709551616, -9223372036854775808, -9223372036854775809]",
        "[0, -0, 0.0, -0.0, 1e22, 1E+2, 2.2250738585072014e-308, 1.7976931348623157e308]",
        "[[[[[[[[]]]]]]]]", "\n{\t\"a\"\r:\n1\n,\n\"b\" : 2 }\n"}) {
    ASSERT_TRUE(plainly(text)) << text;
    EXPECT_EQ(plainly(text), strictly(text)) << text;
  }
}

TEST(PlainJson, GivesUpOnAllElse) {
  for (const char* text : {"",
                           " ",
                           "[",
                           "]",
                           "{",
                           "[1",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "[1]]",
                           "[1] 2",
                           "{1: 2}",
                           "{\"a\"}",
                           "{\"a\": }",
                           "{\"a\": 1,}",
                           "{,\"a\": 1}",
                           "{\"a\" 1}",
                           "{\"a\": 1 \"b\": 2}",
                           "{]",
                           "[}",
                           "{\"a\": 1, \"a\": 2}",
                           "01",
                           "-",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "--1",
                           "1e400",
                           "NaN",
                           "Infinity",
                           "tru",
                           "nul",
                           "True",
                           "'a'",
                           "\"a",
                           "\"\t\"",
                           "\"\\n\"",
                           "\"\xc3\xa9\"",
                           "\xef\xbb\xbf[]",
                           "[1]\x01",
                           "[[[[[[[[[]]]]]]]]]",
                           "1e-400"}) {
    EXPECT_FALSE(plainly(text)) << text;
  }
  EXPECT_FALSE(plainly(std::string("[1]\0", 4)));
  EXPECT_FALSE(plainly(std::string("\"a\0b\"", 5)));
}

// Whatever it accepts, the strict reader accepts, with the same steps.
TEST(PlainJson, AcceptsNothingThatTheStrictReaderDoesNot) {
  std::ifstream file(NF4BENCH_SOURCE_DIR "/tests/report/golden/matmul.json");
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const std::string piece = whole.substr(0, whole.find("\"measurements\"")) + "\"warnings\": []}";
  ASSERT_TRUE(plainly(piece));
  std::mt19937 random(1);
  const std::string bytes = "{}[]\",:.-+eE0123456789 \ntfn\\\x01\x80";
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = piece;
    for (int change = 0; change < 1 + round % 3; ++change) {
      const std::size_t at = random() % text.size();
      const char byte = bytes[random() % bytes.size()];
      if (round % 2 == 0) {
        text[at] = byte;
      } else if (round % 4 == 1) {
        text.insert(at, 1, byte);
      } else {
        text.erase(at, 1 + random() % 4);
      }
    }
    const auto plain = plainly(text);
    if (!plain) continue;
    ++accepted;
    ASSERT_EQ(plain, strictly(text)) << text;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace nf4bench
