// Outputs that cannot be written, from the start or later.

#include "cli/outcome.hpp"
#include "faults/short_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace nf4bench::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

void wait_for(const std::string& path) {
  for (int i = 0; i < 4000 && !fs::exists(path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(VanishedFolder, IsAnErrorAtTheEndAndTheTableIsShown) {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("gone"));
  const std::string path = scratch.path("gone/report.json");
  Process process(nf4bench_command(endless_run(path)));
  wait_for(path);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  fs::remove_all(scratch.path("gone"));
  process.send(SIGTERM);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 143);  // the signal decides, whatever else went wrong
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(path), HasSubstr("No such file or directory")));
  EXPECT_THAT(outcome.out, HasSubstr("INCOMPLETE"));
}

TEST(FolderThatCannotBeWritten, IsRefusedBeforeMeasuring) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("locked"));
  fs::permissions(scratch.path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(nf4bench(endless_run(scratch.path("locked/report.json"))),
              Ends(3, HasSubstr("Permission denied")));
}

// Like the folder above, but it stops root as well: nobody can create files in /proc.
TEST(FolderThatTakesNoFiles, IsRefusedBeforeMeasuring) {
  EXPECT_THAT(nf4bench(endless_run("/proc/self/report.json")),
              AllOf(Ends(3, HasSubstr("/proc/self/report.json")), Prints(IsEmpty())));
}

// A killed process may leave gigabytes behind.
TEST(Leftover, OfATensorFileIsRemovedByWhoWritesThatFileNext) {
  const ScratchFolder scratch;
  const std::string leftover = scratch.path(".made.safetensors.0123abcd.tmp");
  const std::string other = scratch.path(".else.safetensors.0123abcd.tmp");
  shell("touch '" + leftover + "' '" + other + "'");
  EXPECT_EQ(nf4bench({"synth", "-o", scratch.path("made.safetensors"), "--shape", "8x8"}).exit_code,
            0);
  EXPECT_FALSE(fs::exists(leftover));
  EXPECT_TRUE(fs::exists(other));
}

TEST(OlderReport, StaysUntilTheNewOneHasAMeasurement) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  ASSERT_EQ(nf4bench(short_run(path, {"--shape", "64x64", "--quiet"})).exit_code, 0);
  const std::string before = read_file(path);
  Process process(nf4bench_command(endless_run(path)));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(read_file(path), before);
  process.send(SIGKILL);
  process.wait();
  EXPECT_EQ(read_file(path), before);
}

TEST(OlderReport, StaysWhenTheInputOfTheNewOneIsBad) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  ASSERT_EQ(nf4bench(short_run(path, {"--shape", "64x64", "--quiet"})).exit_code, 0);
  const std::string before = read_file(path);
  EXPECT_EQ(nf4bench(short_run(path, {scratch.path("missing.safetensors")})).exit_code, 3);
  EXPECT_EQ(read_file(path), before);
}

}  // namespace
}  // namespace nf4bench::test
