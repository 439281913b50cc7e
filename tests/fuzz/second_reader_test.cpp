#include "fuzz/second_reader.hpp"

#include "fuzz/strict_json.hpp"
#include "io/raw_files.hpp"
#include "io/reference_cases.hpp"

#include <gtest/gtest.h>

namespace nf4bench::fuzz {
namespace {

class SecondReader : public ::testing::TestWithParam<testing::ReferenceCase> {};

// The verdicts are those of safetensors 0.8.0 itself, apart from the deviations that are listed.
TEST_P(SecondReader, DecidesAsTheReferenceReader) {
  const bool accepts = second_safetensors(GetParam().file).has_value();
  EXPECT_EQ(accepts, GetParam().verdict == testing::Verdict::kBothAccept);
}

INSTANTIATE_TEST_SUITE_P(Reference, SecondReader, ::testing::ValuesIn(testing::safetensors_cases()),
                         [](const auto& each) { return each.param.name; });

TEST(SecondReaderOfStates, ReadsWhatBitsandbytesWrote) {
  const auto entries = testing::read_state_dict(testing::data_file("llama_layer.safetensors"));
  int states = 0;
  for (const testing::RawTensor& entry : entries) {
    if (!entry.name.ends_with("__nf4")) continue;
    const auto state = second_quant_state(entry.bytes);
    ASSERT_TRUE(state) << entry.bytes;
    EXPECT_EQ(state->quant_type, "nf4");
    EXPECT_EQ(state->blocksize, 64u);
    EXPECT_TRUE(state->nested_offset);
    ++states;
  }
  EXPECT_GT(states, 0);
}

TEST(SecondReaderOfIndexes, ReadsTheSampleIndex) {
  const auto entries =
      second_index(testing::read_raw(testing::data_file("sharded/model.safetensors.index.json")));
  ASSERT_TRUE(entries);
  EXPECT_GT(entries->size(), 1u);
  EXPECT_EQ(entries->front().second.substr(0, 6), "model-");
}

TEST(StrictJson, RefusesWhatIsNotJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "{\"a\":1,}",
                           "{\"a\" 1}",
                           "{a:1}",
                           "01",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "-",
                           "nul",
                           "NaN",
                           "\"\t\"",
                           "\"\\x\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"\xff\"",
                           "\"\xc0\xaf\"",
                           "\"\xed\xa0\x80\"",
                           "\"\xf4\x90\x80\x80\"",
                           "1 2",
                           "\xef\xbb\xbf{}",
                           "1e309",
                           "{\"a\":1,\"\\u0061\":2}",
                           "[[[]]]"}) {
    EXPECT_FALSE(parse_strict_json(text, 2)) << text;
  }
}

TEST(StrictJson, ReadsEscapesAndNumbers) {
  const auto value = parse_strict_json(
      R"( ["\u00e9\ud83d\ude00\n\/", 18446744073709551615, 18446744073709551616, -0, 2.0] )", 1);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->items[0].text, "\xc3\xa9\xf0\x9f\x98\x80\n/");
  EXPECT_EQ(value->items[1].unsigned_value, 18446744073709551615u);
  for (const std::size_t i : {2u, 3u, 4u}) {
    EXPECT_TRUE(value->items[i].is(JsonValue::Kind::kNumber));
  }
}

}  // namespace
}  // namespace nf4bench::fuzz
