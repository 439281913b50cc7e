#include "bench/sampling.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace nf4bench {
namespace {

// Calibrates a call that takes `seconds(launches)`; counts the samples it needed.
struct Calibrated {
  int launches = 0;
  int samples = 0;
};

Calibrated calibrate(double min_sample_s, int buffer_sets,
                     const std::function<double(int)>& seconds) {
  bench::Calibration calibration(min_sample_s, buffer_sets);
  Calibrated result;
  while (!calibration.is_done() && result.samples < 1000) {
    calibration.add(seconds(calibration.launches()));
    ++result.samples;
  }
  result.launches = calibration.launches();
  return result;
}

TEST(Calibration, LeavesALongCallAlone) {
  EXPECT_EQ(calibrate(1e-4, 1, [](int) { return 5e-4; }).launches, 1);
}

TEST(Calibration, AsksOnlyOnceForAVeryLongCall) {
  const Calibrated result = calibrate(1e-4, 1, [](int) { return 0.5; });
  EXPECT_EQ(result.launches, 1);
  EXPECT_EQ(result.samples, 1);
}

TEST(Calibration, BatchesAShortCallUntilTheSampleIsLongEnough) {
  for (const double call : {2e-6, 7e-6, 33e-6, 90e-6}) {
    const Calibrated result = calibrate(1e-4, 1, [&](int) { return call; });
    EXPECT_GE(result.launches * call, 1e-4) << call;
    EXPECT_LE(result.launches * call, 3e-4) << call;
    EXPECT_LE(result.samples, 12) << call;
  }
}

// The first sample, of one launch, bears the whole overhead of a launch. In later ones the launches
// share it.
TEST(Calibration, SeesThroughAnOverheadThatBatchingShares) {
  const auto seconds = [](int launches) { return 2e-6 + 20e-6 / launches; };
  const Calibrated result = calibrate(1e-4, 1, seconds);
  EXPECT_GE(result.launches * seconds(result.launches), 1e-4);
}

TEST(Calibration, IsNotFooledByOneHiccup) {
  int sample = 0;
  const Calibrated result = calibrate(1e-4, 1, [&](int) { return sample++ == 0 ? 3e-3 : 2e-6; });
  EXPECT_GE(result.launches * 2e-6, 1e-4);
}

TEST(Calibration, KeepsToMultiplesOfTheBufferSets) {
  for (const int sets : {2, 4, 9, 37}) {
    const Calibrated result = calibrate(1e-4, sets, [](int) { return 3e-6; });
    EXPECT_EQ(result.launches % sets, 0) << sets;
    EXPECT_GE(result.launches * 3e-6, 1e-4) << sets;
  }
  EXPECT_EQ(calibrate(1e-4, 9, [](int) { return 1.0; }).launches, 9);
}

TEST(Calibration, EndsForACallThatTakesNoTimeAtAll) {
  const Calibrated result = calibrate(1e-4, 1, [](int) { return 1e-12; });
  EXPECT_LE(result.launches, 1 << 14);
  EXPECT_LT(result.samples, 40);
}

TEST(Calibration, EndsForACallThatBatchingMakesFree) {
  const Calibrated result = calibrate(1e-4, 1, [](int launches) { return 1e-6 / launches; });
  EXPECT_LT(result.samples, 40);
}

}  // namespace
}  // namespace nf4bench
