// What compute-sanitizer says, and how it is asked. Its lines are those of NVIDIA's manual.

#include "trying/sanitizer.hpp"

#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace nf4bench {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using trying::findings_in;
using trying::SanitizerFinding;

constexpr char kOutOfBounds[] = R"(========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at decode(nf4bench_peer_job)+0x160 in mine.cu:6
=========     by thread (3,0,0) in block (1,0,0)
=========     Address 0x7f6510c00001 is misaligned
=========     and is inside the nearest allocation at 0x7f6510c00000 of size 4 bytes
=========
========= Invalid __global__ write of size 4 bytes
=========     at decode(nf4bench_peer_job)+0x160 in mine.cu:6
=========     by thread (4,0,0) in block (1,0,0)
=========     Address 0x7f6510c00005 is misaligned
=========
========= Program hit unspecified launch failure (error 719) on CUDA API call to cudaFree.
========= Target application returned an error
========= ERROR SUMMARY: 2 errors
)";

TEST(Sanitizer, NamesKindPlaceThreadAndAddress) {
  const std::vector<SanitizerFinding> found = findings_in(kOutOfBounds, "memcheck");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].tool, "memcheck");
  EXPECT_EQ(found[0].kind, "Invalid __global__ write of size 4 bytes");
  EXPECT_EQ(found[0].kernel, "decode(nf4bench_peer_job)");
  EXPECT_EQ(found[0].file, "mine.cu");
  EXPECT_EQ(found[0].line, 6);
  EXPECT_EQ(found[0].thread, "(3,0,0)");
  EXPECT_EQ(found[0].block, "(1,0,0)");
  EXPECT_EQ(found[0].address, "0x7f6510c00001 is misaligned");
  EXPECT_EQ(found[0].times, 2);
}

TEST(Sanitizer, ARaceHasBothOfItsAccesses) {
  const auto found = findings_in(
      R"(========= COMPUTE-SANITIZER
========= ERROR: Race reported between Write access at RAW()+0xf0 in raceGroupBasic.cu:40
=========     and Read access at RAW()+0x280 in raceGroupBasic.cu:46 [4 hazards]
=========
========= ERROR: Potential WAW hazard detected at __shared__ 0x0 in block (0,0,0) :
=========     Write Thread (0,0,0) at WAW()+0x2f0 in raceWAW.cu:20
=========     Write Thread (1,0,0) at WAW()+0x2f0 in raceWAW.cu:20
=========     Current Value : 1, Incoming Value : 2
=========
========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)
)",
      "racecheck");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].kind, "Race reported between Write access and Read access");
  EXPECT_EQ(found[0].kernel, "RAW()");
  EXPECT_EQ(found[0].line, 40);
  EXPECT_EQ(found[1].kind, "Potential WAW hazard detected");
  EXPECT_EQ(found[1].address, "__shared__ 0x0");
  EXPECT_EQ(found[1].thread, "(0,0,0)");
  EXPECT_EQ(found[1].kernel, "WAW()");
}

TEST(Sanitizer, OfCodeWithoutLinesThereIsNoFile) {
  const auto found = findings_in(
      R"(========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in warp
=========     at ThreadDivergence(int *, int)+0xf0
=========     by thread (37,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
)",
      "synccheck");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, "Barrier error detected. Divergent thread(s) in warp");
  EXPECT_EQ(found[0].kernel, "ThreadDivergence(int *, int)");
  EXPECT_EQ(found[0].file, "");
  EXPECT_EQ(found[0].thread, "(37,0,0)");
}

TEST(Sanitizer, NothingFoundIsNothing) {
  EXPECT_THAT(findings_in("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", "x"),
              SizeIs(0));
}

// A compute-sanitizer on PATH that keeps its arguments and writes what the test says.
class FakeSanitizer : public testing::Test {
 protected:
  void put(const std::string& text) const {
    std::ofstream(folder_.path("said")) << text;
    std::ofstream(folder_.path("compute-sanitizer"))
        << "#!/bin/sh\nfolder=$(dirname \"$0\")\necho \"$@\" >> \"$folder/asked\"\n"
        << "for word; do case $word in --log-file=*) log=${word#*=};; esac; done\n"
        << "if [ -s \"$folder/said\" ]; then cat \"$folder/said\" > \"$log\"\n"
        << "else echo no driver >&2; fi\n";
    std::filesystem::permissions(folder_.path("compute-sanitizer"),
                                 std::filesystem::perms::owner_all);
  }
  trying::Sanitized sanitized(const std::vector<std::string>& symbols) const {
    const std::string before = std::getenv("PATH");
    setenv("PATH", (folder_.path().string() + ":" + before).c_str(), 1);
    const std::atomic<bool> never = false;
    const trying::Sanitized done = trying::sanitize({}, symbols, never);
    setenv("PATH", before.c_str(), 1);
    return done;
  }
  std::string asked() const {
    std::stringstream text;
    text << std::ifstream(folder_.path("asked")).rdbuf();
    return text.str();
  }

  test::ScratchFolder folder_;
};

TEST_F(FakeSanitizer, IsAskedWithItsFourTools) {
  put(kOutOfBounds);
  const trying::Sanitized done = sanitized({"_Z6decode"});
  EXPECT_EQ(done.problem, "");
  ASSERT_THAT(done.findings, SizeIs(4));
  EXPECT_EQ(done.findings[3].tool, "synccheck");
  EXPECT_THAT(asked(), HasSubstr("--tool=initcheck"));
  EXPECT_THAT(asked(), HasSubstr("--kernel-name=kernel_name=_Z6decode --launch-count=4"));
}

TEST_F(FakeSanitizer, LooksAtAllKernelsOfAnUnknownFile) {
  put(kOutOfBounds);
  sanitized({});
  EXPECT_THAT(asked(), Not(HasSubstr("--kernel-name")));
  EXPECT_THAT(asked(), Not(HasSubstr("--launch-count")));
}

TEST_F(FakeSanitizer, ThatWritesNothingHasNotLooked) {
  put("");
  const trying::Sanitized done = sanitized({});
  EXPECT_THAT(done.findings, SizeIs(0));
  EXPECT_THAT(done.problem, HasSubstr("synccheck did not look at it: no driver"));
}

TEST(Sanitizer, ThatIsMissingIsAProblemThatSaysWhereItIsFrom) {
  if (std::filesystem::exists("/usr/local/cuda/bin/compute-sanitizer")) GTEST_SKIP();
  const std::string before = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const std::atomic<bool> never = false;
  EXPECT_THAT(trying::sanitize({}, {}, never).problem, HasSubstr("install the CUDA Toolkit"));
  setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace nf4bench
