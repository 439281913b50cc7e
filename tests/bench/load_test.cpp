// What a run says of the processors of its host.

#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

namespace nf4bench {
namespace {

// Two processors of which each reading finds `others` of a processor more used by others, in ticks
// of a hundredth of a second; the program itself uses what is left. A reading is a second after the
// last.
std::function<device::LoadReading()> others_use(double others) {
  return [others, reading = device::LoadReading{.processors = 2,
                                                .times = device::ProcessorTimes{},
                                                .own_ticks = 0.0,
                                                .involuntary_switches = 0}]() mutable {
    reading.times->busy += 200.0;
    reading.times->total += 200.0;
    reading.own_ticks += 200.0 - 100.0 * others;
    reading.involuntary_switches += 40;
    return reading;
  };
}

TEST(Load, IsNotedInTheRowsOfItsCell) {
  FakeRun bench;
  bench.device.mutable_info().multiprocessors = 2;
  bench.read_load = others_use(1.0);
  bench.run();
  ASSERT_EQ(bench.rows.size(), 2u);
  for (const record::Measurement& row : bench.rows) {
    ASSERT_TRUE(row.load);
    EXPECT_EQ(row.load->processors, 2);
    EXPECT_NEAR(row.load->others, 0.98, 1e-9);  // less one tick a processor
    EXPECT_EQ(row.load->stolen, 0.0);
    EXPECT_EQ(row.load->involuntary_switches, 40);
    EXPECT_TRUE(row.load->disturbed);
  }
}

TEST(Load, ThatIsSmallDisturbsNobody) {
  FakeRun bench;
  bench.device.mutable_info().multiprocessors = 2;
  bench.read_load = others_use(0.1);
  bench.run();
  for (const record::Measurement& row : bench.rows) {
    EXPECT_FALSE(row.load.value().disturbed);
  }
}

TEST(Load, OfProcessorsThatARunLeavesFreeDisturbsNobody) {
  FakeRun bench;
  bench.device.mutable_info().multiprocessors = 1;  // threads of the CPU device
  bench.read_load = others_use(1.0);
  bench.run();
  for (const record::Measurement& row : bench.rows) {
    EXPECT_FALSE(row.load.value().disturbed);
  }
}

TEST(Load, OfAGpusHostMattersToPlainLaunchesAlone) {
  FakeRun bench;
  bench.device.mutable_info().kind = record::DeviceKind::kCuda;
  bench.device.mutable_info().multiprocessors = 132;
  bench.options.launches = {record::LaunchMode::kGraph, record::LaunchMode::kStream};
  for (const double others : {1.0, 1.8}) {
    bench.rows.clear();
    bench.read_load = others_use(others);
    bench.run();
    ASSERT_EQ(bench.rows.size(), 4u);
    for (const record::Measurement& row : bench.rows) {
      const bool is_plain = row.cell.launch == record::LaunchMode::kStream;
      EXPECT_EQ(row.load.value().disturbed, is_plain && others > 1.5) << others;
    }
  }
}

TEST(Load, ThatNobodyTellsIsAbsent) {
  FakeRun bench;
  bench.run();
  for (const record::Measurement& row : bench.rows) EXPECT_FALSE(row.load);
}

}  // namespace
}  // namespace nf4bench
