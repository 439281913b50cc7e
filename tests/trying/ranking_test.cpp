#include "trying/ranking.hpp"

#include "trying/try_sheet.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace nf4bench {
namespace {

using trying::Against;
using trying::Attempt;
using trying::Ranked;
using trying::TriedCell;

Attempt attempt(const std::string& id, const std::vector<Against>& ratios) {
  Attempt made;
  made.id = id;
  made.device = "CPU";
  for (const Against& ratio : ratios) {
    TriedCell cell;
    cell.operation = "dequantize";
    cell.shape = {static_cast<std::int64_t>(made.cells.size() + 1), 64};
    cell.baseline = ratio;
    made.cells.push_back(cell);
  }
  return made;
}

Against ratio(double value, double half_width) {
  return {"multi_pass", value, statistics::Interval{value - half_width, value + half_width}};
}

std::vector<std::string> ids_of(const std::vector<Ranked>& ranked) {
  std::vector<std::string> ids;
  for (const Ranked& each : ranked) ids.push_back(each.attempt->id);
  return ids;
}

TEST(TriesRanking, PutsTheFastestFirstWhateverTheOrder) {
  const std::vector<Attempt> attempts = {attempt("b", {ratio(2.0, 0.01)}),
                                         attempt("a", {ratio(3.0, 0.01)}),
                                         attempt("c", {ratio(1.0, 0.01)})};
  std::vector<const Attempt*> failed;
  const std::vector<trying::Group> groups = trying::rank(attempts, failed);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(ids_of(groups[0].ranked), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(groups[0].ranked[1].best, 2u);
  EXPECT_EQ(groups[0].ranked[1].worst, 2u);
}

TEST(TriesRanking, TriesWhoseIntervalsOverlapSharePlaces) {
  const std::vector<Attempt> attempts = {attempt("a", {ratio(2.00, 0.05)}),
                                         attempt("b", {ratio(2.03, 0.05)}),
                                         attempt("c", {ratio(1.0, 0.05)})};
  std::vector<const Attempt*> failed;
  const std::vector<Ranked> ranked = trying::rank(attempts, failed)[0].ranked;
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_EQ(ranked[i].best, 1u);
    EXPECT_EQ(ranked[i].worst, 2u);
  }
  EXPECT_EQ(ranked[2].best, 3u);
}

TEST(TriesRanking, ComparesNothingAcrossDevicesAndShapes) {
  std::vector<Attempt> attempts = {attempt("a", {ratio(2.0, 0.1)}),
                                   attempt("b", {ratio(2.0, 0.1), ratio(2.0, 0.1)}),
                                   attempt("c", {ratio(2.0, 0.1)})};
  attempts[2].device = "GPU";
  std::vector<const Attempt*> failed;
  EXPECT_EQ(trying::rank(attempts, failed).size(), 3u);
}

TEST(TriesRanking, WhatFailedHasNoPlace) {
  std::vector<Attempt> attempts = {attempt("a", {ratio(2.0, 0.1)}), attempt("b", {ratio(9.0, 0.1)}),
                                   attempt("c", {})};
  attempts[1].status = trying::Status::kWrong;
  std::vector<const Attempt*> failed;
  const std::vector<trying::Group> groups = trying::rank(attempts, failed);
  EXPECT_EQ(ids_of(groups[0].ranked), std::vector<std::string>{"a"});
  EXPECT_EQ(failed.size(), 2u);
}

TEST(TriesRanking, WhatHadNoBaselineBesideItSaysSo) {
  Attempt made = attempt("a", {ratio(2.0, 0.1)});
  made.cells[0].fastest = made.cells[0].baseline;
  made.cells[0].baseline.reset();
  EXPECT_NE(trying::ranking_text({made}, {.width = 100})
                .find("ok: no place, as no baseline was timed beside it"),
            std::string::npos);
  EXPECT_NE(trying::to_text(made, {.width = 100})
                .find("fastest: multi_pass, no baseline could run here; above 1"),
            std::string::npos);
}

TEST(TriesRanking, TheWholeIsTheGeometricMeanAndKnownBetterThanItsCells) {
  const Attempt made = attempt("a", {ratio(2.0, 0.1), ratio(8.0, 0.4)});
  const auto all = trying::overall(made, &TriedCell::baseline);
  ASSERT_TRUE(all && all->ci95);
  EXPECT_NEAR(all->ratio, 4.0, 1e-12);
  EXPECT_LT(std::log(all->ci95->high / all->ci95->low), std::log(2.1 / 1.9));
  EXPECT_GT(std::log(all->ci95->high / all->ci95->low), std::log(2.1 / 1.9) / 2.0);
  EXPECT_FALSE(trying::overall(made, &TriedCell::last));
}

}  // namespace
}  // namespace nf4bench
