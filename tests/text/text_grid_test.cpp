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

}  // namespace
}  // namespace nf4bench
