#include "base/error.hpp"
#include "cli/progress_line.hpp"
#include "plan/name_filter.hpp"
#include "text/columns.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nf4bench {
namespace {

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

TEST(Duration, IsSaidInTheUnitThatSuits) {
  EXPECT_EQ(cli::duration_text(0.2), "1 s");
  EXPECT_EQ(cli::duration_text(59.0), "59 s");
  EXPECT_EQ(cli::duration_text(61.0), "1 min 01 s");
  EXPECT_EQ(cli::duration_text(3720.0), "1 h 02 min");
  EXPECT_EQ(cli::duration_text(-1.0), "0 s");
}

TEST(NameFilter, MatchesAnywhereInTheName) {
  const plan::NameFilter filter("q_proj|k_proj");
  EXPECT_TRUE(filter.selects("model.layers.0.self_attn.q_proj.weight"));
  EXPECT_FALSE(filter.selects("model.layers.0.mlp.up_proj.weight"));
}

TEST(NameFilter, EmptyOneSelectsAll) {
  EXPECT_TRUE(plan::NameFilter("").selects("anything"));
}

TEST(NameFilter, SurvivesANameOfAMillionCharacters) {
  EXPECT_TRUE(plan::NameFilter("(a|b)*c?").selects(std::string(1000000, 'a')));
}

TEST(NameFilter, RefusesAMalformedExpression) {
  EXPECT_THROW(plan::NameFilter("["), Error);
}

}  // namespace
}  // namespace nf4bench
