// SIGINT and SIGTERM at every moment of a run's life.

#include "faults/short_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <thread>

namespace nf4bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// How often each exit code came, and what was found wrong.
struct Sweep {
  std::map<int, int> exits;
  int untouched = 0;  // the older report was still there
  int partial = 0;
  int finished = 0;
};

// One run over an older report, signalled after `delay`.
void signal_one(int signal, std::chrono::milliseconds delay, Sweep& sweep) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  const std::string older = "{\n  \"schema\": \"nf4bench.report\",\n  \"older\": true\n}";
  shell("printf '%s' '" + older + "' > '" + path + "'");
  Process process(nf4bench_command(
      with_shapes(short_run(path, {"--min-samples", "50", "--precision", "1"}), 4)));
  std::this_thread::sleep_for(delay);
  process.send(signal);
  const Outcome outcome = process.wait();
  ++sweep.exits[outcome.exit_code];
  ASSERT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 128 + signal)
      << outcome.exit_code << " " << outcome.err;
  const std::string text = read_file(path);
  if (text == older) {
    ++sweep.untouched;
    EXPECT_NE(outcome.exit_code, 0);
  } else {
    const json report = json::parse(text);
    EXPECT_EQ(report.at("complete").get<bool>(), outcome.exit_code == 0) << text;
    EXPECT_FALSE(report.at("measurements").empty());
    ++(outcome.exit_code == 0 ? sweep.finished : sweep.partial);
  }
  // What the default disposition ended may leave a temporary file and a lock, but not the others.
  const auto files = std::distance(fs::directory_iterator(scratch.path("")), {});
  EXPECT_LE(files, 3);
  if (text != older) {
    EXPECT_EQ(files, 1);
  }
}

constexpr int kSteps = 40;

Sweep sweep_delays(int signal) {
  Sweep sweep;
  for (int step = 0; step < kSteps; ++step) {
    signal_one(signal, std::chrono::milliseconds(8 * step), sweep);
  }
  fmt::print("{} signals: older report kept {}, partial {}, finished {}; exit codes {}\n", kSteps,
             sweep.untouched, sweep.partial, sweep.finished, sweep.exits);
  return sweep;
}

TEST(Signals, SigintAtAnyMomentLeavesAWholeReport) {
  EXPECT_GT(sweep_delays(SIGINT).exits[130], 0);
}

TEST(Signals, SigtermAtAnyMomentLeavesAWholeReport) {
  EXPECT_GT(sweep_delays(SIGTERM).exits[143], 0);
}

TEST(Signals, OfBothKindsAtOnceEndInAnInterruptedRun) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  Process process(nf4bench_command(endless_run(path)));
  for (int i = 0; i < 4000 && !fs::exists(path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  process.send(SIGINT);
  process.send(SIGTERM);
  const int code = process.wait().exit_code;
  EXPECT_TRUE(code == 130 || code == 143) << code;
  EXPECT_EQ(json::parse(read_file(path)).at("complete"), false);
}

// Closing the terminal is no request for an orderly end, but it must not break a file either.
TEST(Signals, SighupLeavesAWholeReport) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  Process process(nf4bench_command(endless_run(path)));
  for (int i = 0; i < 4000 && !fs::exists(path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  process.send(SIGHUP);
  EXPECT_EQ(process.wait().exit_code, 129);
  EXPECT_EQ(json::parse(read_file(path)).at("complete"), false);
}

}  // namespace
}  // namespace nf4bench::test
