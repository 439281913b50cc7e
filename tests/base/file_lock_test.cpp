#include "base/file_lock.hpp"

#include "scratch.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

class FileLockTest : public test::FolderTest {};

// What `answer` says in another process: true, false or, if that process died, nothing.
std::optional<bool> in_another_process(const std::function<bool()>& answer) {
  const pid_t child = fork();
  if (child == 0) _exit(answer() ? 1 : 0);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return std::nullopt;
  return WEXITSTATUS(status) == 1;
}

TEST_F(FileLockTest, OfAnOutputIsSeenByAnotherProcessWithItsNumber) {
  const OutputLock lock(folder_ / "report.json");
  EXPECT_FALSE(lock.is_taken());
  const std::string own = std::to_string(getpid());
  EXPECT_EQ(in_another_process([&] {
              const OutputLock other(folder_ / "report.json");
              return other.is_taken() && other.holder() == own;
            }),
            true);
}

TEST_F(FileLockTest, OfAnOutputIsFreeAgainAndLeavesNothing) {
  { const OutputLock lock(folder_ / "report.json"); }
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_FALSE(OutputLock(folder_ / "report.json").is_taken());
}

TEST_F(FileLockTest, OfAnOutputTakenByAnotherIsLeftAlone) {
  const OutputLock lock(folder_ / "report.json");
  { const OutputLock other(folder_ / "report.json"); }
  EXPECT_TRUE(OutputLock(folder_ / "report.json").is_taken());
}

// Somebody's file may have the name of a lock.
TEST_F(FileLockTest, LeavesFilesAloneThatAreNoLocks) {
  const fs::path path = folder_ / ".report.json.lock";
  for (const std::string text : {"mine", "12 apples", "1234\n"}) {
    std::ofstream(path) << text;
    {
      const OutputLock lock(folder_ / "report.json");
      EXPECT_FALSE(lock.is_taken());
    }
    { const SharedUse use(path); }
    EXPECT_EQ(test::read_file(path), text);
  }
}

TEST_F(FileLockTest, OfAKilledProcessIsTakenOver) {
  EXPECT_EQ(in_another_process([&] {
              const OutputLock lock(folder_ / "report.json");
              raise(SIGKILL);
              return false;
            }),
            std::nullopt);
  EXPECT_FALSE(fs::is_empty(folder_));
  {
    const OutputLock lock(folder_ / "report.json");
    EXPECT_FALSE(lock.is_taken());
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(FileLockTest, OfTwoOutputsInOneFolderAreTwo) {
  const OutputLock a(folder_ / "a.json");
  EXPECT_FALSE(OutputLock(folder_ / "b.json").is_taken());
}

TEST_F(FileLockTest, WhereNoLockFileCanBeMadeLocksNothing) {
  EXPECT_FALSE(OutputLock(folder_ / "missing" / "report.json").is_taken());
  EXPECT_FALSE(SharedUse(folder_ / "missing" / "gpu.lock").had_others());
}

TEST_F(FileLockTest, NeverFollowsALink) {
  fs::create_symlink(folder_ / "victim", folder_ / ".report.json.lock");
  fs::create_symlink(folder_ / "victim", folder_ / "gpu.lock");
  const OutputLock lock(folder_ / "report.json");
  const SharedUse use(folder_ / "gpu.lock");
  EXPECT_FALSE(fs::exists(folder_ / "victim"));
}

TEST_F(FileLockTest, OfSharedUseTellsBothSides) {
  const SharedUse first(folder_ / "gpu.lock");
  EXPECT_FALSE(first.had_others());
  EXPECT_FALSE(first.got_others());
  EXPECT_EQ(in_another_process([&] { return SharedUse(folder_ / "gpu.lock").had_others(); }), true);
  EXPECT_TRUE(first.got_others());
}

TEST_F(FileLockTest, OfSharedUseIsSeenByAThirdAfterTheFirstHasLeft) {
  auto first = std::make_optional<SharedUse>(folder_ / "gpu.lock");
  const SharedUse second(folder_ / "gpu.lock");
  first.reset();
  const SharedUse third(folder_ / "gpu.lock");
  EXPECT_TRUE(third.had_others());
  EXPECT_TRUE(second.got_others());
}

TEST_F(FileLockTest, OfSharedUseForgetsThoseThatLeft) {
  { const SharedUse first(folder_ / "gpu.lock"); }
  const SharedUse second(folder_ / "gpu.lock");
  EXPECT_FALSE(second.had_others());
  EXPECT_FALSE(second.got_others());
}

TEST_F(FileLockTest, OfSharedUseIsForAllUsers) {
  const mode_t before = umask(0077);
  { const SharedUse use(folder_ / "gpu.lock"); }
  umask(before);
  EXPECT_EQ(static_cast<unsigned>(fs::status(folder_ / "gpu.lock").permissions()), 0666u);
}

TEST_F(FileLockTest, OfSharedUseDoesNotWaitForAStrangerWhoKeepsTheFile) {
  std::ofstream(folder_ / "gpu.lock") << ".";
  const Descriptor stranger(open((folder_ / "gpu.lock").c_str(), O_RDWR));
  ASSERT_EQ(flock(stranger.get(), LOCK_EX), 0);
  EXPECT_TRUE(SharedUse(folder_ / "gpu.lock").had_others());
}

}  // namespace
}  // namespace nf4bench
