// Nsight Compute that does not end.

#include "bench/counting.hpp"

#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace nf4bench {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Two variants that passed on one tensor.
record::Report measured() {
  record::Report report;
  report.device.kind = record::DeviceKind::kCuda;
  record::ReportTensor tensor;
  tensor.id = "t0";
  tensor.geometry.shape = {64, 64};
  report.tensors = {tensor};
  for (const char* const variant : {"one", "other"}) {
    record::Measurement& row = report.measurements.emplace_back();
    row.cell.operation = "dequantize";
    row.cell.tensor = "t0";
    row.variant = variant;
    row.status = record::Status::kPassed;
    row.time_s.emplace().median = 1e-5;
  }
  return report;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

TEST(Counting, ThatHangsIsEndedWithAllThatItStarted) {
  const test::ScratchFolder folder;
  std::ofstream(folder.path("ncu")) << "#!/bin/sh\nfolder=$(dirname \"$0\")\n"
                                       "sleep 600 >/dev/null 2>&1 &\n"
                                       "echo $! > \"$folder/started\"\necho >> \"$folder/asked\"\n"
                                       "trap '' TERM\nwait\nsleep 600\n";
  std::filesystem::permissions(folder.path("ncu"), std::filesystem::perms::owner_all);
  const std::string before = std::getenv("PATH");
  setenv("PATH", (folder.path().string() + ":" + before).c_str(), 1);
  record::Report report = measured();
  record::RunOptions options;
  options.why = {"*"};
  const std::vector<bench::CountedOperation> operations = {{"dequantize", {"t0"}}};
  const std::atomic<bool> never = false;
  bench::count(report, {.options = options,
                        .operations = operations,
                        .on_progress = {},
                        .interrupted = never,
                        .limit_s = 0.5});
  setenv("PATH", before.c_str(), 1);
  for (const record::Measurement& row : report.measurements) {
    EXPECT_THAT(row.counters->unavailable, HasSubstr("ncu did not end within"));
    EXPECT_EQ(row.status, record::Status::kPassed);
  }
  ASSERT_THAT(report.warnings, SizeIs(1));
  EXPECT_EQ(std::filesystem::file_size(folder.path("asked")), 1u) << "the second would hang, too";
  const std::string status = "/proc/" + contents(folder.path("started")) + "/stat";
  const auto is_there = [&] {
    const std::string text = contents(status);
    return !text.empty() && text.find(") Z ") == std::string::npos;
  };
  for (int i = 0; i < 200 && is_there(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(is_there());
}

// A pattern that names none, a row that failed and one in another cell of the geometry have none.
TEST(Counting, IsOfTheChosenVariantsInTheFirstCellThatPassed) {
  record::Report report = measured();
  report.device.kind = record::DeviceKind::kCpu;  // so that nothing is started
  report.measurements.push_back(report.measurements[0]);
  report.measurements[2].cell.tokens = 8;
  report.measurements.push_back(report.measurements[0]);
  report.measurements[3].status = record::Status::kFailed;
  record::RunOptions options;
  options.why = {"on*"};
  const std::atomic<bool> never = false;
  bench::count(report,
               {.options = options, .operations = {}, .on_progress = {}, .interrupted = never});
  EXPECT_TRUE(report.measurements[0].counters);
  EXPECT_FALSE(report.measurements[1].counters) << "not asked for";
  EXPECT_FALSE(report.measurements[2].counters) << "another cell";
  EXPECT_FALSE(report.measurements[3].counters) << "not right";
}

}  // namespace
}  // namespace nf4bench
