// What is left of a run whose device stops working, or whose call never returns.

#include "bench/fake_run.hpp"
#include "bench/watchdog.hpp"
#include "error_of.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace nf4bench {
namespace {

using test::error_of;

using Kind = FakeCall::Kind;

// From call number `nth` of `variant` and `kind` on, every call of every variant fails.
void break_at(FakeRun& bench, const std::string& variant, Kind kind, std::int64_t nth) {
  bench.device.script(variant).device_error = [&bench, kind, nth](const FakeCall& call) {
    if (call.kind != kind || call.nth != nth) return "";
    bench.device.is_broken = true;
    return "an illegal memory access was encountered";
  };
}

std::string error_of(FakeRun& bench, const std::vector<plan::TensorSource>& sources) {
  return test::error_of(ErrorKind::kDevice, [&] { bench.run(sources); });
}

// The rows of the current tensor after the device was lost: that of the culprit says what happened,
// the others name the culprit, and none has a time.
void expect_loss_rows(const std::vector<record::Measurement>& rows, const std::string& culprit,
                      const std::string& cause) {
  for (const record::Measurement& row : rows) {
    EXPECT_FALSE(row.time_s) << row.variant;
    EXPECT_TRUE(row.samples_s.empty()) << row.variant;
    if (row.variant == culprit) {
      EXPECT_EQ(row.status, record::Status::kFailed);
      EXPECT_EQ(row.reason, cause);
    } else {
      EXPECT_EQ(row.status, record::Status::kSkipped);
      EXPECT_EQ(row.reason, "not finished: the device was lost to " + culprit);
    }
  }
}

TEST(DeviceLoss, LeavesTheRowsSoFarAndSaysWhoseFaultItWas) {
  FakeRun bench({"base", "kills", "fast"});
  bench.device.script("kills").device_error = [&](const FakeCall& call) -> std::string {
    if (call.tensor != "b") return "";
    bench.device.is_broken = true;
    return "an illegal memory access was encountered";
  };
  const std::string error = error_of(bench, {fake_source("a", 8), fake_source("b", 16)});
  EXPECT_EQ(error,
            "kills: an illegal memory access was encountered; after that the device works no more: "
            "the fake device is broken");
  ASSERT_EQ(bench.rows.size(), 6u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(bench.rows[i].status, record::Status::kPassed);
  expect_loss_rows({bench.rows.begin() + 3, bench.rows.end()}, "kills",
                   "an illegal memory access was encountered");
  EXPECT_EQ(bench.rows[4].bytes_written, 16 * 64 * 2);
}

// A run with two cells, two tensors of one geometry, and a stream shape beside the variants.
// Whichever call breaks the device, the run ends with an error, no workload is left, and every
// variant has its row.
TEST(DeviceLoss, AtAnyCallEndsInAnErrorAndRowsForAllVariants) {
  const auto prepare = [](FakeRun& bench) {
    bench.options.min_samples = 3;
    bench.options.max_time_s = 1e-9;
    bench.options.caches = {record::CacheMode::kCold, record::CacheMode::kHot};
  };
  const std::vector<plan::TensorSource> sources = {fake_source("a"), fake_source("b")};
  // There are more calls in one run than in another: nobody can foresee when inputs change.
  int losses = 0;
  for (std::size_t k = 0;; ++k) {
    FakeRun bench({"base", "fast"}, {"stream"});
    prepare(bench);
    bench.device.on_call = [&](const FakeCall&) {
      if (bench.device.calls.size() == k + 1) bench.device.is_broken = true;
    };
    const std::string error = error_of(bench, sources);
    if (!bench.device.is_broken) {
      EXPECT_EQ(bench.rows.size(), 4u);
      break;
    }
    ASSERT_NE(error.find("the fake device is broken"), std::string::npos) << k;
    EXPECT_EQ(bench.device.workloads_alive, 0) << k;
    const FakeCall& fatal = bench.device.calls[k];
    if (fatal.kind == Kind::kUpload) {
      EXPECT_TRUE(bench.rows.empty()) << k;
      continue;
    }
    ++losses;
    ASSERT_EQ(bench.rows.size(), 4u) << k;
    const std::string culprit =
        fatal.kind == Kind::kChange ? "a change of the inputs" : fatal.variant;
    EXPECT_EQ(error.rfind(culprit + ": ", 0), 0u) << error;
    expect_loss_rows(bench.rows, culprit, "the fake device is broken");
  }
  EXPECT_GT(losses, 50);
}

TEST(DeviceLoss, AfterTimingTakesTheTimesThatCouldNotBeVerifiedAgain) {
  FakeRun bench({"base", "kills"});
  break_at(bench, "kills", Kind::kVerify, 1);
  EXPECT_NE(error_of(bench, {fake_source("a")}), "");
  ASSERT_EQ(bench.rows.size(), 2u);
  expect_loss_rows(bench.rows, "kills", "an illegal memory access was encountered");
}

TEST(DeviceLoss, LeavesEarlierVerdictsAsTheyWere) {
  FakeRun bench({"base", "wrong", "kills"});
  bench.device.script("wrong").is_wrong = [](const FakeCall&) { return true; };
  break_at(bench, "kills", Kind::kSample, 2);
  EXPECT_NE(error_of(bench, {fake_source("a")}), "");
  EXPECT_EQ(bench.row("wrong").status, record::Status::kFailed);
  EXPECT_NE(bench.row("wrong").reason.find("1 of 512 elements differ"), std::string::npos);
  EXPECT_EQ(bench.row("base").status, record::Status::kSkipped);
  EXPECT_EQ(bench.row("kills").status, record::Status::kFailed);
}

// A call of `hangs` that returns only once the run has been told.
class HungRun : public FakeRun {
 public:
  HungRun(Kind kind, std::int64_t nth) : FakeRun({"base", "hangs"}) {
    options.call_timeout_s = 0.05;
    device.script("hangs").seconds = [](const FakeCall&) { return 1e-5; };
    device.on_call = [this, kind, nth](const FakeCall& call) {
      if (call.variant != "hangs" || call.kind != kind || call.nth != nth) return;
      std::unique_lock lock(mutex_);
      told_.wait_for(lock, std::chrono::seconds(20), [this] { return !problem_.empty(); });
    };
    on_hang = [this](const std::string& problem) {
      rows_when_told_ = rows;
      interrupted = true;  // the run must end somehow
      const std::lock_guard lock(mutex_);
      problem_ = problem;
      told_.notify_all();
    };
  }

  const std::string& problem() const { return problem_; }
  const std::vector<record::Measurement>& rows_when_told() const { return rows_when_told_; }

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  std::string problem_;
  std::vector<record::Measurement> rows_when_told_;
};

TEST(HungCall, WhileVerifyingIsReportedWithItsRows) {
  HungRun bench(Kind::kVerify, 0);
  bench.run();
  EXPECT_EQ(bench.problem(), "hangs did not return within 0.05 s");
  ASSERT_EQ(bench.rows_when_told().size(), 2u);
  expect_loss_rows(bench.rows_when_told(), "hangs", "did not return within 0.05 s");
}

TEST(HungCall, WhileSamplingIsReportedWithItsRows) {
  HungRun bench(Kind::kSample, 5);
  bench.run();
  EXPECT_EQ(bench.problem(), "hangs did not return within 0.05 s");
  ASSERT_EQ(bench.rows_when_told().size(), 2u);
  expect_loss_rows(bench.rows_when_told(), "hangs", "did not return within 0.05 s");
}

TEST(HungCall, IsNotSeenWhereEachCallIsShortButAllTogetherAreLong) {
  FakeRun bench({"base", "fast"});
  bench.options.call_timeout_s = 0.2;
  bench.options.min_samples = 40;
  bool was_told = false;
  bench.on_hang = [&](const std::string&) { was_told = true; };
  bench.device.on_call = [](const FakeCall&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  bench.run();
  EXPECT_GT(bench.device.calls.size(), 400u);  // 0.4 s at least
  EXPECT_FALSE(was_told);
  EXPECT_EQ(bench.row("fast").status, record::Status::kPassed);
}

TEST(Watchdog, WithoutALimitWatchesNothing) {
  bool was_told = false;
  bench::Watchdog watchdog(0.0, [&](const bench::Caller&) { was_told = true; });
  const bench::Caller caller{"slow"};
  const bench::Watchdog::Watch watch(watchdog, caller);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(was_told);
}

TEST(Watchdog, TellsOnceOfOneCall) {
  std::mutex mutex;
  int told = 0;
  {
    bench::Watchdog watchdog(0.02, [&](const bench::Caller& caller) {
      EXPECT_EQ(caller.name, "slow");
      const std::lock_guard lock(mutex);
      ++told;
    });
    const bench::Caller caller{"slow"};
    const bench::Watchdog::Watch watch(watchdog, caller);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace nf4bench
