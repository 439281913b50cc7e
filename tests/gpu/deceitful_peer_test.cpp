// Kernels that are right when they are verified and do less when they are timed, on a real GPU.

#include "device/devices.hpp"
#include "faults/short_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>
#include <utility>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class DeceitfulPeer : public testing::Test {
 protected:
  void SetUp() override {
    std::string problem;
    if (!device::cuda_devices(&problem).empty()) return;
    if (std::getenv("NF4BENCH_REQUIRE_GPU") != nullptr) FAIL() << problem;
    GTEST_SKIP() << problem;
  }

  // Runs the variant beside a built-in one, which must pass; returns its status and reason.
  static std::pair<std::string, std::string> row(const std::string& variant,
                                                 const std::string& cache,
                                                 const std::string& launch, bool is_apart = false) {
    const ScratchFolder scratch;
    const std::string path = scratch.path("report.json");
    Command command = nf4bench_command(
        short_run(path, {"--device", "cuda:0", "--peer", "mine=" TEST_PEER_DECEITFUL, "--variant",
                         "lut_shared,mine." + variant, "--shape", "1024x1024", "--dtype",
                         "bfloat16", "--cache", cache, "--launch", launch, "--max-time", "0.05"}));
    if (!is_apart) command.arguments.emplace_back("--in-process");
    const Outcome outcome = Process(command).wait();
    std::pair<std::string, std::string> found = {"absent", outcome.err};
    const json report = report_at(path);
    for (const json& each : report.at("measurements")) {
      const json& reason = each.at("reason");
      const std::string why = reason.is_null() ? "" : reason.get<std::string>();
      if (each.at("variant") == "lut_shared") {
        EXPECT_EQ(each.at("status"), "passed") << why;
      } else {
        found = {each.at("status"), why};
      }
    }
    return found;
  }

  static void expect_failed(const std::string& variant, const std::string& launch,
                            const std::string& reason) {
    const auto [status, why] = row(variant, "cold", launch);
    EXPECT_EQ(status, "failed") << variant << " " << launch;
    EXPECT_THAT(
        why, AllOf(HasSubstr("in a timed sample (cold " + launch + ", set "), HasSubstr(reason)));
  }
};

TEST_F(DeceitfulPeer, ThatLaunchesHalfOfItsBlocksInGraphsIsFailedThere) {
  expect_failed("half", "graph", "524288 of 1048576 elements are not written");
  expect_failed("half", "spaced", "524288 of 1048576 elements are not written");
  EXPECT_EQ(row("half", "hot", "graph").first, "failed");
  EXPECT_EQ(row("half", "cold", "stream").first, "passed");
}

TEST_F(DeceitfulPeer, ThatSkipsWhatIsThereAlreadyIsFailed) {
  for (const char* const launch : {"graph", "stream"}) {
    expect_failed("skips", launch, "what is there already is skipped");
  }
}

TEST_F(DeceitfulPeer, ThatSkipsATenthIsFailed) {
  for (const char* const launch : {"graph", "stream"}) {
    expect_failed("tenth", launch, "104960 of 1048576 elements are not written");
    EXPECT_EQ(row("tenth", "hot", launch).first, "failed");
  }
}

TEST_F(DeceitfulPeer, ThatWorksInItsFirstCallsOnlyIsFailed) {
  for (const char* const launch : {"graph", "stream"}) {
    expect_failed("tires", launch, "are not written");
    EXPECT_EQ(row("tires", "hot", launch).first, "failed");
  }
}

TEST_F(DeceitfulPeer, ThatWritesLateOnAnotherStreamIsFailed) {
  expect_failed("late", "stream", "are right only after the sample has ended");
}

TEST_F(DeceitfulPeer, ThatSwapsOutputsIsFailed) {
  for (const char* const launch : {"graph", "stream"}) {
    expect_failed("swaps", launch, "hold what belongs to another buffer set");
  }
}

TEST_F(DeceitfulPeer, IsFailedInAProcessOfItsOwn) {
  const auto expect = [](const std::string& variant, const std::string& launch,
                         const std::string& reason) {
    const auto [status, why] = row(variant, "cold", launch, true);
    EXPECT_EQ(status, "failed") << variant << " " << launch;
    EXPECT_THAT(why, HasSubstr(reason)) << variant << " " << launch;
  };
  expect("half", "graph", "524288 of 1048576 elements are not written");
  expect("skips", "graph", "what is there already is skipped");
  expect("tenth", "stream", "104960 of 1048576 elements are not written");
  expect("tires", "graph", "are not written");
  expect("late", "stream", "are right only after the sample has ended");
  expect("swaps", "graph", "hold what belongs to another buffer set");
}

}  // namespace
}  // namespace nf4bench::test
