#include "bench/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace nf4bench {
namespace {

using Order = std::vector<std::size_t>;

TEST(RoundOrder, HoldsEachContenderOnce) {
  bench::RoundOrder order(7, 1);
  for (int round = 0; round < 50; ++round) {
    Order indices = order.next();
    std::ranges::sort(indices);
    EXPECT_EQ(indices, (Order{0, 1, 2, 3, 4, 5, 6}));
  }
}

TEST(RoundOrder, GivesEachContenderEachPlaceEquallyOften) {
  constexpr std::size_t kCount = 5;
  bench::RoundOrder order(kCount, 3);
  std::map<std::pair<std::size_t, std::size_t>, int> seen;  // contender, place
  for (std::size_t round = 0; round < 4 * kCount; ++round) {
    const Order indices = order.next();
    for (std::size_t place = 0; place < kCount; ++place) ++seen[{indices[place], place}];
  }
  EXPECT_EQ(seen.size(), kCount * kCount);
  for (const auto& [what, times] : seen) EXPECT_EQ(times, 4);
}

TEST(RoundOrder, ChangesWhoFollowsWhom) {
  bench::RoundOrder order(6, 9);
  std::set<std::size_t> followers_of_0;
  for (int round = 0; round < 120; ++round) {
    const Order indices = order.next();
    const auto at = std::ranges::find(indices, 0u);
    if (at + 1 != indices.end()) followers_of_0.insert(*(at + 1));
  }
  EXPECT_EQ(followers_of_0.size(), 5u);
}

TEST(RoundOrder, IsDecidedByTheSeed) {
  const auto first_rounds = [](std::uint64_t seed) {
    bench::RoundOrder order(8, seed);
    std::vector<Order> rounds;
    for (int round = 0; round < 20; ++round) rounds.push_back(order.next());
    return rounds;
  };
  EXPECT_EQ(first_rounds(42), first_rounds(42));
  EXPECT_NE(first_rounds(42), first_rounds(43));
}

TEST(RoundOrder, OfNoneAndOneIsTrivial) {
  EXPECT_TRUE(bench::RoundOrder(0, 1).next().empty());
  bench::RoundOrder one(1, 1);
  EXPECT_EQ(one.next(), Order{0});
  EXPECT_EQ(one.next(), Order{0});
}

}  // namespace
}  // namespace nf4bench
