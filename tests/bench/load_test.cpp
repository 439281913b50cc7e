// What a run says of the processors of its host.

#include "bench/fake_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

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

// The threads 7, there from the start, and 8, which the first call of mine.a starts: each uses so
// much of a processor, and mine.a and mine.b use both.
struct Idle {
  FakeRun bench{{"own", "mine.a", "mine.b", "yours"}};
  std::map<int, double> used_s;

  explicit Idle(double of_7, double of_8) {
    bench.device.mutable_info().multiprocessors = 2;
    bench.device.variant("mine.a").traits.peer = "mine";
    bench.device.variant("mine.b").traits.peer = "mine";
    bench.device.variant("yours").traits.peer = "yours";
    bench.read_load = others_use(0.0);
    const auto list = [this] {
      const bool has_begun = std::ranges::any_of(
          bench.device.calls, [](const FakeCall& call) { return call.variant == "mine.a"; });
      return has_begun ? std::vector{7, 8} : std::vector{7};
    };
    const auto seconds = [this, of_7, of_8](int id) {
      return bench.device.now_s * (id == 7 ? of_7 : of_8);
    };
    bench.threads = device::ThreadWatch(list, seconds);
    bench.run();
  }
};

TEST(Load, CountsThreadsOfPeersThatNobodyCalled) {
  const Idle idle(0.0, 1.0);
  ASSERT_EQ(idle.bench.rows.size(), 4u);
  for (const record::Measurement& row : idle.bench.rows) {
    const bool is_mine = row.variant.starts_with("mine");
    EXPECT_NEAR(row.load.value().idle_threads, is_mine ? 0.0 : 1.0, 1e-9) << row.variant;
    EXPECT_EQ(row.load->idle_threads_of, is_mine ? "" : "mine") << row.variant;
    EXPECT_EQ(row.load->disturbed, !is_mine) << row.variant;
  }
  EXPECT_EQ(record::busy_words(idle.bench.rows.front().load.value()),
            "threads of peer mine that nobody had called kept 1.0 of 2 busy");
}

// Which of several peers started what was there at first, nobody knows.
TEST(Load, CountsThreadsOfAnyPeerWithoutAName) {
  const Idle idle(0.3, 0.0);
  const record::HostLoad load = idle.bench.row("own").load.value();
  EXPECT_NEAR(load.idle_threads, 0.3, 1e-9);
  EXPECT_EQ(load.idle_threads_of, "");
  EXPECT_TRUE(load.disturbed);
}

TEST(Load, IgnoresThreadsThatOnlyLookForWork) {
  EXPECT_EQ(Idle(0.0, 0.049).bench.row("own").load.value().idle_threads, 0.0);
  EXPECT_NE(Idle(0.0, 0.051).bench.row("own").load.value().idle_threads, 0.0);
}

TEST(Load, ThatNobodyTellsIsAbsent) {
  FakeRun bench;
  bench.run();
  for (const record::Measurement& row : bench.rows) EXPECT_FALSE(row.load);
}

}  // namespace
}  // namespace nf4bench
