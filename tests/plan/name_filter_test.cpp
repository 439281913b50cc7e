#include "base/error.hpp"
#include "plan/words.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nf4bench {
namespace {

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
