#include "base/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace nf4bench {
namespace {

using namespace std::string_literals;

TEST(Text, PlainNamesAreShownAsTheyAre) {
  EXPECT_EQ(escaped("model.layers.0.mlp.up_proj.weight"), "model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(escaped(""), "");
  EXPECT_EQ(escaped("Gewicht \xc3\xa4 \xe9\x87\x8d \xf0\x9f\x98\x80"),
            "Gewicht \xc3\xa4 \xe9\x87\x8d \xf0\x9f\x98\x80");
}

TEST(Text, ControlCharactersAreEscaped) {
  EXPECT_EQ(escaped("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(escaped("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(escaped("cut\0here"s), "cut\\u0000here");
  EXPECT_EQ(escaped("\x7f"), "\\x7f");
  EXPECT_EQ(escaped("say \"\\\""), "say \\\"\\\\\\\"");
}

TEST(Text, C1ControlsAndBidirectionalOverridesAreEscaped) {
  EXPECT_EQ(escaped("\xc2\x9b"
                    "31m"),
            "\\u009b31m");  // CSI in one character
  EXPECT_EQ(escaped("a\xe2\x80\xae"
                    "b"),
            "a\\u202eb");                         // right-to-left override
  EXPECT_EQ(escaped("\xe2\x80\xa8"), "\\u2028");  // line separator
  EXPECT_EQ(escaped("\xef\xbb\xbf"
                    "bom"),
            "\\ufeffbom");  // byte order mark
}

TEST(Text, IsMadePrintableWithoutQuotingIt) {
  EXPECT_EQ(printable("say \"\\\" to \xc3\xa4"), "say \"\\\" to \xc3\xa4");
  EXPECT_EQ(printable("\x1b[2J\n\t\x7f\xc2\x9b\xe2\x80\xae\xff"),
            R"(\x1b[2J\n\t\x7f\u009b\u202e\xff)");
  EXPECT_EQ(printable(""), "");
  const std::string once = printable("a\x1b\"b\"\n");
  EXPECT_EQ(printable(once), once);
}

TEST(Text, BeginsWithACharacterOrTheLongestPartOfOne) {
  const auto front = [](std::string_view text) {
    const Utf8Front found = utf8_front(text);
    return std::pair(found.length, found.is_character);
  };
  EXPECT_EQ(front("ab"), std::pair(std::size_t{1}, true));
  EXPECT_EQ(front("\xf0\x9f\x98\x80x"), std::pair(std::size_t{4}, true));
  EXPECT_EQ(front("\xf0\x9f\x98x"), std::pair(std::size_t{3}, false));
  EXPECT_EQ(front("\xf0\x9f"), std::pair(std::size_t{2}, false));
  EXPECT_EQ(front("\x80\x80"), std::pair(std::size_t{1}, false));
  EXPECT_EQ(front("\xe0\x9f\x80"), std::pair(std::size_t{1}, false));      // overlong
  EXPECT_EQ(front("\xed\xa0\x80"), std::pair(std::size_t{1}, false));      // a surrogate
  EXPECT_EQ(front("\xf4\x90\x80\x80"), std::pair(std::size_t{1}, false));  // past U+10FFFF
}

TEST(Text, InvalidBytesAreEscapedOneByOne) {
  EXPECT_EQ(escaped("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(escaped("a\xc3"), "a\\xc3");                  // truncated
  EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf");           // overlong '/'
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(escaped("\xe9\x87x"), "\\xe9\\x87x");
}

TEST(Text, LongTextIsCutAndMarked) {
  EXPECT_EQ(escaped(std::string(200, 'a')), std::string(200, 'a'));
  EXPECT_EQ(escaped(std::string(201, 'a')), std::string(200, 'a') + "...");
  EXPECT_EQ(escaped(std::string(1 << 20, '\x1b'), 8), "\\x1b\\x1b...");
  // A character of several bytes counts once and is never cut in half.
  EXPECT_EQ(escaped("\xc3\xa4\xc3\xa4\xc3\xa4", 2), "\xc3\xa4\xc3\xa4...");
}

TEST(Text, Utf8AcceptsTheEndsOfEveryLength) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("\x01\x7f\0"s));
  EXPECT_TRUE(is_utf8("\xc2\x80\xdf\xbf"));
  EXPECT_TRUE(is_utf8("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"));
  EXPECT_TRUE(is_utf8("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
}

TEST(Text, Utf8RefusesWhatUnicodeForbids) {
  EXPECT_FALSE(is_utf8("\x80"));              // continuation without a lead
  EXPECT_FALSE(is_utf8("\xc1\xbf"));          // overlong, two bytes
  EXPECT_FALSE(is_utf8("\xe0\x9f\xbf"));      // overlong, three
  EXPECT_FALSE(is_utf8("\xf0\x8f\xbf\xbf"));  // overlong, four
  EXPECT_FALSE(is_utf8("\xed\xbf\xbf"));      // surrogate
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));  // beyond U+10FFFF
  EXPECT_FALSE(is_utf8("\xf5\x80\x80\x80"));
  EXPECT_FALSE(is_utf8("abc\xe2\x82"));  // truncated
  EXPECT_FALSE(is_utf8("\xf8\x88\x80\x80\x80"));
}

TEST(Text, WildcardsMatchTheWholeText) {
  EXPECT_TRUE(matches_wildcard("", ""));
  EXPECT_FALSE(matches_wildcard("", "a"));
  EXPECT_TRUE(matches_wildcard("*", ""));
  EXPECT_TRUE(matches_wildcard("lut_*", "lut_shared"));
  EXPECT_FALSE(matches_wildcard("lut_*", "my_lut_shared"));
  EXPECT_FALSE(matches_wildcard("lut", "lut_shared"));
  EXPECT_TRUE(matches_wildcard("*_s?ared", "lut_shared"));
  EXPECT_FALSE(matches_wildcard("?", ""));
  EXPECT_FALSE(matches_wildcard("a?", "a"));
  EXPECT_TRUE(matches_wildcard("a*b*c", "a_b_b_c"));
  EXPECT_FALSE(matches_wildcard("a*b*c", "a_b_b_cd"));
  EXPECT_TRUE(matches_wildcard("***", "anything"));
  EXPECT_TRUE(matches_wildcard("?", "\xc3\xa4"));  // one character of two bytes
}

TEST(Text, WildcardsStayFastOnHostilePatterns) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(matches_wildcard(pattern + "b", std::string(20000, 'a')));
}

}  // namespace
}  // namespace nf4bench
