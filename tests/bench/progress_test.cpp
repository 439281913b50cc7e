#include "bench/progress.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nf4bench {
namespace {

struct Watched {
  double now_s = 0.0;
  std::vector<double> fractions;
  std::vector<std::string> texts;
  bench::Progress progress{[this] { return now_s; },
                           [this](double done, const std::string& what) {
                             fractions.push_back(done);
                             texts.push_back(what);
                           }};
};

TEST(Progress, GrowsFromZeroToOne) {
  Watched watched;
  watched.progress.expect(bench::Work::kTime, 4.0);
  for (int step = 0; step < 4; ++step) {
    watched.progress.begin(bench::Work::kTime, 1.0, "step");
    watched.now_s += 1.0;
  }
  watched.progress.finish();
  ASSERT_EQ(watched.fractions.size(), 5u);
  EXPECT_EQ(watched.fractions.front(), 0.0);
  EXPECT_NEAR(watched.fractions[1], 0.25, 1e-9);
  EXPECT_NEAR(watched.fractions[2], 0.50, 1e-9);
  EXPECT_NEAR(watched.fractions[3], 0.75, 1e-9);
  EXPECT_EQ(watched.fractions.back(), 1.0);
}

TEST(Progress, NeverFalls) {
  Watched watched;
  watched.progress.expect(bench::Work::kTime, 20.0);
  for (int step = 0; step < 20; ++step) {
    watched.progress.begin(bench::Work::kTime, 1.0, "step");
    for (int part = 0; part < 5; ++part) {
      watched.now_s += step < 10 ? 0.2 : 2.0;  // later steps cost ten times what was foreseen
      watched.progress.advance(part / 5.0);
    }
  }
  watched.progress.finish();
  for (std::size_t i = 1; i < watched.fractions.size(); ++i) {
    EXPECT_GE(watched.fractions[i], watched.fractions[i - 1]);
    EXPECT_LE(watched.fractions[i], 1.0);
  }
}

// Timing ends early when it is steady, but verification takes its full time. With one scale for
// both, a run of ten cheap cells and one long verification would seem nearly done when it is half
// done.
TEST(Progress, LearnsHowFastEachKindOfWorkGoes) {
  Watched watched;
  watched.progress.expect(bench::Work::kTime, 100.0);
  watched.progress.expect(bench::Work::kVerify, 10.0);
  watched.progress.begin(bench::Work::kTime, 50.0, "time");
  watched.now_s += 5.0;
  watched.progress.begin(bench::Work::kVerify, 5.0, "verify");
  watched.now_s += 5.0;
  watched.progress.begin(bench::Work::kTime, 50.0, "time");
  EXPECT_NEAR(watched.fractions.back(), 0.5, 0.02);
}

TEST(Progress, SaysWhatIsGoingOn) {
  Watched watched;
  watched.progress.expect(bench::Work::kVerify, 1.0);
  watched.progress.begin(bench::Work::kVerify, 1.0, "t0 verify");
  EXPECT_EQ(watched.texts, std::vector<std::string>{"t0 verify"});
}

TEST(Progress, ReportsWithinAStepOnlySoOften) {
  Watched watched;
  watched.progress.expect(bench::Work::kTime, 1.0);
  watched.progress.begin(bench::Work::kTime, 1.0, "step");
  for (int i = 0; i < 1000; ++i) {
    watched.now_s += 0.001;
    watched.progress.advance(i / 1000.0);
  }
  EXPECT_LE(watched.fractions.size(), 12u);
  EXPECT_GE(watched.fractions.size(), 9u);
}

TEST(Progress, NeedsNoListener) {
  bench::Progress progress([] { return 0.0; }, nullptr);
  progress.expect(bench::Work::kTime, 1.0);
  progress.begin(bench::Work::kTime, 1.0, "step");
  progress.advance(0.5);
  progress.finish();
}

}  // namespace
}  // namespace nf4bench
