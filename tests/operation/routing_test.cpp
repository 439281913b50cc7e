#include "operation/routing.hpp"

#include "base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace nf4bench {
namespace {

kernels::Problem problem_of(std::int64_t experts, std::int64_t top_k, std::int64_t tokens) {
  kernels::Problem problem;
  problem.tokens = tokens;
  problem.outputs = problem.inputs = 64;
  problem.elements = experts * 64 * 64;
  problem.group.experts = experts;
  problem.group.top_k = top_k;
  return problem;
}

std::vector<std::int64_t> draw(const kernels::Problem& problem, const std::string& word,
                               std::uint64_t seed = 42) {
  return operation::draw_ids(problem, operation::parse_routing(word), seed);
}

// Rows of each expert that has any, the fewest first.
std::vector<std::int64_t> rows_of(const std::vector<std::int64_t>& ids) {
  std::map<std::int64_t, std::int64_t> rows;
  for (const std::int64_t id : ids) ++rows[id];
  std::vector<std::int64_t> counts;
  for (const auto& [id, count] : rows) counts.push_back(count);
  std::ranges::sort(counts);
  return counts;
}

TEST(Routing, GivesEachTokenDifferentExperts) {
  const kernels::Problem problem = problem_of(16, 4, 100);
  for (const char* word :
       {"uniform", "zipf:1.2", "normal:1", "one", "balanced", "zipf:1:dead=0.5"}) {
    const std::vector<std::int64_t> ids = draw(problem, word);
    for (std::size_t token = 0; token < 100; ++token) {
      const auto first = ids.begin() + static_cast<std::ptrdiff_t>(token * 4);
      const std::set<std::int64_t> own(first, first + 4);
      EXPECT_EQ(own.size(), 4u) << word;
      EXPECT_GE(*own.begin(), 0);
      EXPECT_LT(*own.rbegin(), 16);
    }
  }
}

TEST(Routing, DrawsTheFirstTokensAlikeWhateverTheirNumber) {
  for (const char* word : {"uniform", "zipf:1", "normal:1", "one", "balanced"}) {
    const std::vector<std::int64_t> few = draw(problem_of(32, 4, 5), word);
    const std::vector<std::int64_t> many = draw(problem_of(32, 4, 90), word);
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin())) << word;
    if (std::string(word) != "balanced") {
      EXPECT_NE(draw(problem_of(32, 4, 5), word, 43), few) << word;
    }
  }
}

// d(T) = E (1 - (1 - k / E)^T): 82.4 of 128 experts for 16 tokens that choose 8.
TEST(Routing, HitsAsManyExpertsAsUniformTokensDo) {
  double hit = 0.0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    hit += static_cast<double>(rows_of(draw(problem_of(128, 8, 16), "uniform", seed)).size()) / 50;
  }
  EXPECT_NEAR(hit, 82.4, 2.0);
}

TEST(Routing, IsAsUnevenAsItsWordSays) {
  const kernels::Problem problem = problem_of(64, 8, 2048);
  const auto fullest = [&](const char* word) { return rows_of(draw(problem, word)).back(); };
  constexpr std::int64_t kMean = 2048 * 8 / 64;
  EXPECT_LT(fullest("uniform"), kMean * 1.3);
  EXPECT_GT(fullest("zipf:0.9"), kMean * 2);
  EXPECT_GT(fullest("normal:1"), kMean * 2);
  EXPECT_EQ(fullest("one"), 2048);
  EXPECT_EQ(rows_of(draw(problem, "balanced")), std::vector<std::int64_t>(64, kMean));
}

TEST(Routing, LeavesDeadExpertsAlone) {
  const kernels::Problem problem = problem_of(128, 8, 2048);
  EXPECT_EQ(rows_of(draw(problem, "normal:0.5:dead=0.2")).size(), 103u);
  EXPECT_EQ(rows_of(draw(problem, "balanced:dead=0.5")).size(), 64u);
  EXPECT_THROW(draw(problem, "uniform:dead=0.99"), Error);
}

TEST(Routing, RefusesOtherWordsAndSaysWhichThereAre) {
  for (const char* word : {"", "unifrom", "zipf", "zipf:", "zipf:x", "normal:-1", "uniform:2",
                           "one:dead=1", "one:dead=", "balanced:dead=nan"}) {
    try {
      operation::parse_routing(word);
      ADD_FAILURE() << word;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("--routing"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("balanced"), std::string::npos);
    }
  }
  EXPECT_EQ(operation::parse_routing("a/zipf.npy").kind, operation::RoutingKind::kFile);
}

TEST(Routing, CountsWhoIsHitAndNobodyElse) {
  kernels::Problem problem = problem_of(4, 2, 3);
  const std::vector<std::int64_t> ids = {3, -1, 3, 4, 0, 3};
  const std::vector<std::byte> bytes = operation::routing_bytes(problem, ids, 1);
  const operation::ExpertLoad load =
      operation::load_of(problem, {.rows = {}, .ids = bytes, .slot_weights = {}});
  EXPECT_EQ(load.hit, 2);
  EXPECT_EQ(load.fullest, 3);
  EXPECT_EQ(load.slots, 4);
}

}  // namespace
}  // namespace nf4bench
