// Disks that fill up, as a limit on the size of a file, as a small file system, and as /dev/full.

#include "cli/outcome.hpp"
#include "faults/short_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <iterator>
#include <string>
#include <sys/mount.h>

namespace nf4bench::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::string joined(const std::vector<std::string>& words) {
  std::string line = R"("$NF4BENCH")";
  for (const std::string& word : words) line.append(" '").append(word).append("'");
  return line;
}

std::ptrdiff_t files_in(const std::string& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

// A run whose report outgrows a small limit: each measurement brings 200 samples.
std::string growing_run(const std::string& report) {
  return joined(with_shapes(
      short_run(report, {"--min-samples", "200", "--max-time", "5", "--precision", "1"}), 30));
}

TEST(FileSizeLimit, OfTheReportIsAnErrorAndNoSignal) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  const Outcome outcome = shell("ulimit -f 32; " + growing_run(path));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(path), HasSubstr("File too large")));
  EXPECT_THAT(outcome.out, HasSubstr("30x64"));  // the table: the work is not lost
  const json report = json::parse(read_file(path));
  EXPECT_EQ(report.at("complete"), false);
  EXPECT_EQ(files_in(scratch.path("")), 1);
}

TEST(FileSizeLimit, LeavesAnOlderReportAlone) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  ASSERT_EQ(shell(joined(short_run(path, {"--shape", "64x64", "--quiet"}))).exit_code, 0);
  const std::string before = read_file(path);
  // Not even an empty report fits: the run ends before it measures.
  EXPECT_THAT(shell("ulimit -f 1; " + growing_run(path)), AllOf(Ends(3), Prints(IsEmpty())));
  EXPECT_EQ(read_file(path), before);
  EXPECT_EQ(files_in(scratch.path("")), 1);
}

TEST(FileSizeLimit, OfADecodedFileLeavesNothing) {
  const ScratchFolder scratch;
  EXPECT_THAT(shell("ulimit -f 8; \"$NF4BENCH\" dequantize '" + sample("llama_layer.safetensors") +
                    "' -o '" + scratch.path("decoded.safetensors") + "' --device cpu --quiet"),
              Ends(3, HasSubstr("File too large")));
  EXPECT_EQ(files_in(scratch.path("")), 0);
}

TEST(FileSizeLimit, OfSyntheticTensorsLeavesNothing) {
  const ScratchFolder scratch;
  EXPECT_THAT(shell("ulimit -f 8; \"$NF4BENCH\" synth -o '" + scratch.path("made.safetensors") +
                    "' --shape 512x512"),
              Ends(3, HasSubstr("File too large")));
  EXPECT_EQ(files_in(scratch.path("")), 0);
}

TEST(FileSizeLimit, OfAnExportLeavesNothing) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  ASSERT_EQ(shell(joined(short_run(path, {"--shape", "64x64", "--quiet"}))).exit_code, 0);
  EXPECT_THAT(shell("ulimit -f 1; \"$NF4BENCH\" export '" + path + "' --to html -o '" +
                    scratch.path("page.html") + "'"),
              Ends(3));
  EXPECT_EQ(files_in(scratch.path("")), 1);
}

// A file system of 64 KiB. Mounting one takes privileges.
class SmallDisk : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder());
    is_mounted_ = mount("none", folder().c_str(), "tmpfs", 0, "size=64k") == 0;
    if (!is_mounted_) GTEST_SKIP() << "mounting is not permitted here";
  }
  void TearDown() override {
    if (is_mounted_) umount2(folder().c_str(), MNT_DETACH);
  }
  std::string folder() const { return scratch_.path("disk"); }

 private:
  ScratchFolder scratch_;
  bool is_mounted_ = false;
};

TEST_F(SmallDisk, ThatFillsUpKeepsTheLastReportThatFitted) {
  const std::string path = folder() + "/report.json";
  EXPECT_THAT(shell(growing_run(path)),
              AllOf(Ends(3, AllOf(HasSubstr(path), HasSubstr("No space left on device"))),
                    Prints(HasSubstr("30x64"))));
  EXPECT_EQ(json::parse(read_file(path)).at("complete"), false);
  EXPECT_EQ(files_in(folder()), 1);
}

TEST_F(SmallDisk, ThatIsFullKeepsAnOlderReport) {
  const std::string path = folder() + "/report.json";
  ASSERT_EQ(shell(joined(short_run(path, {"--shape", "64x64", "--quiet"}))).exit_code, 0);
  const std::string before = read_file(path);
  shell("cat /dev/zero > '" + folder() + "/rest'");
  EXPECT_THAT(shell(growing_run(path)), Ends(3, HasSubstr("No space left on device")));
  EXPECT_EQ(read_file(path), before);
}

// 2^37 elements; the first shape is not begun either.
TEST(TooLittleMemory, ForAnyTensorIsSaidBeforeMeasuring) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  EXPECT_THAT(shell("ulimit -v 4000000; " +
                    joined(short_run(path, {"--shape", "64x64", "--shape", "131072x1048576"}))),
              AllOf(Ends(3, AllOf(HasSubstr("131072x1048576"),
                                  HasSubstr("bytes of memory on the "
                                            "host at least"),
                                  HasSubstr("and there are 4096000000;"))),
                    Prints(IsEmpty())));
  EXPECT_FALSE(fs::exists(path));
}

TEST(DevFull, AsTheReportIsAnErrorAndTheTableIsShown) {
  EXPECT_THAT(shell(joined(short_run("/dev/full", {"--shape", "64x64"}))),
              AllOf(Ends(3, AllOf(HasSubstr("/dev/full"), HasSubstr("No space left"))),
                    Prints(HasSubstr("64x64"))));
}

TEST(DevFull, AsStdoutIsAnErrorAndTheReportIsSaved) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  EXPECT_THAT(shell(joined(short_run(path, {"--shape", "64x64"})) + " > /dev/full"), Ends(3));
  EXPECT_EQ(report_at(path).at("complete"), true);
}

TEST(ClosedPipe, OnStdoutComesAfterTheReportIsSaved) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  const Outcome outcome =
      shell(joined(short_run(path, {"--shape", "64x64"})) + " | true; echo ${PIPESTATUS[0]}");
  EXPECT_THAT(outcome.out, testing::AnyOf(testing::Eq("0\n"), testing::Eq("141\n")));
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(report_at(path).at("complete"), true);
}

// The first file that is opened would otherwise become stdout or stderr, and get their output.
TEST(ClosedStream, OfErrorsTakesNothingFromTheRunAndWritesIntoNoFile) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  const std::string run = joined(short_run(path, {"--shape", "64x64", "--quiet"}));
  EXPECT_EQ(shell(run + " 2>&- <&-; echo $?").out, "0\n");
  EXPECT_EQ(report_at(path).at("complete"), true);
  shell("touch '" + scratch.path("out") + "'; exec 2>&-; \"$NF4BENCH\" inspect '" +
        scratch.path("out") + "'; \"$NF4BENCH\" inspect '" + scratch.path("missing") + "'");
  EXPECT_EQ(read_file(scratch.path("out")), "");
}

TEST(ClosedStream, OfTheTableIsAnErrorAndTheReportIsSaved) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("report.json");
  EXPECT_THAT(shell(joined(short_run(path, {"--shape", "64x64"})) + " >&-"),
              Ends(3, HasSubstr("stdout cannot be written")));
  EXPECT_EQ(report_at(path).at("complete"), true);
}

}  // namespace
}  // namespace nf4bench::test
