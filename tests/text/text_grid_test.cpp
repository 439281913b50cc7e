#include "text/text_grid.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

std::vector<text::GridColumn> columns() {
  return {{"name", text::Align::kLeft, 0},
          {"a", text::Align::kRight, 2},
          {"b", text::Align::kRight, 1}};
}

text::GridRow row(std::vector<std::string> cells) {
  text::GridRow result;
  result.cells = std::move(cells);
  return result;
}

TEST(TextGrid, AlignsCellsUnderTheirTitles) {
  const auto rows = {row({"x", "10", "7"}), row({"long", "5", "123"})};
  const text::GridLayout layout = text::fit_columns(columns(), rows, 80);
  EXPECT_EQ(text::header_line(layout), "  name   a    b");
  EXPECT_EQ(text::row_line(layout, row({"x", "10", "7"})), "  x     10    7");
}

TEST(TextGrid, DropsTheHighestRankFirst) {
  const auto rows = {row({"long", "10", "123"})};
  EXPECT_EQ(text::header_line(text::fit_columns(columns(), rows, 15)), "  name   a    b");
  EXPECT_EQ(text::header_line(text::fit_columns(columns(), rows, 14)), "  name    b");
  EXPECT_EQ(text::header_line(text::fit_columns(columns(), rows, 10)), "  name");
  EXPECT_EQ(text::header_line(text::fit_columns(columns(), rows, 1)), "  name");
}

TEST(TextGrid, LeavesOutColumnsWithoutAnyValue) {
  const text::GridLayout layout = text::fit_columns(columns(), {row({"x", "", "1"})}, 80);
  EXPECT_FALSE(layout.shows("a"));
  EXPECT_TRUE(layout.shows("b"));
  EXPECT_FALSE(layout.shows("no such column"));
}

TEST(TextGrid, CutsMessagesToTheLine) {
  text::GridRow message = row({"x"});
  message.message = "one two three four five six seven";
  const text::GridLayout layout =
      text::fit_columns(columns(), {row({"long", "1", "2"}), message}, 30);
  EXPECT_EQ(text::row_line(layout, message), "  x     one two three four ...");
  EXPECT_EQ(text::text_width(text::row_line(layout, message)), 30);
}

TEST(TextGrid, EndsNoLineInBlanks) {
  const text::GridLayout layout =
      text::fit_columns({{"name", text::Align::kLeft}, {"note", text::Align::kLeft}},
                        {row({"x", "longest"}), row({"y", ""})}, 80);
  EXPECT_EQ(text::row_line(layout, row({"y", ""})), "  y");
}

TEST(TextGrid, FitsTextToAWidth) {
  EXPECT_EQ(text::fitted("abcdef", 6), "abcdef");
  EXPECT_EQ(text::fitted("abcdefg", 6), "abc...");
  EXPECT_EQ(text::fitted("a\x1b", 8), "a\\x1b");
}

TEST(TextGrid, CountsCharactersNotBytes) {
  EXPECT_EQ(text::text_width("bl\xc3\xb6"
                             "cke"),
            6);
}

TEST(TextGrid, WrapsAtBlanks) {
  EXPECT_EQ(text::wrapped("aa bb cc dd", 7, 2), (std::vector<std::string>{"  aa bb", "  cc dd"}));
  EXPECT_EQ(text::wrapped("abcdefghij k", 5, 0), (std::vector<std::string>{"abcdefghij", "k"}));
  EXPECT_TRUE(text::wrapped("", 5, 0).empty());
}

TEST(Columns, AreAsWideAsTheirWidestCell) {
  EXPECT_EQ(text::align_columns({{"a", "bb", "c"}, {"aaa", "b", "c"}}, 0),
            "a    bb  c\naaa  b   c\n");
}

TEST(Columns, CutTheLastOneToTheWidth) {
  EXPECT_EQ(text::align_columns({{"a", "0123456789abcdef"}}, 16), "a  0123456789...\n");
}

TEST(Columns, CountCharactersAndNotBytes) {
  EXPECT_EQ(text::align_columns({{"\xc3\xa9", "x"}, {"ab", "y"}}, 0), "\xc3\xa9   x\nab  y\n");
}

TEST(Columns, LeaveNoBlanksAtTheEndOfALine) {
  EXPECT_EQ(text::align_columns({{"a", ""}, {"b", "c"}}, 0), "a\nb  c\n");
}

TEST(Columns, StayWholeWhereTooLittleIsLeftOfTheWidth) {
  EXPECT_EQ(text::align_columns({{"a", "0123456789abcdef"}}, 12), "a  0123456789abcdef\n");
}

TEST(Columns, CutNoCharacterInTwo) {
  EXPECT_EQ(text::align_columns({{"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                                  "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"}},
                                10),
            "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9...\n");
}

TEST(Columns, TakeRowsOfDifferentLengths) {
  EXPECT_EQ(text::align_columns({{"a", "b", "c"}, {"dd"}, {}}, 80), "a   b  c\ndd\n\n");
}

}  // namespace
}  // namespace nf4bench
