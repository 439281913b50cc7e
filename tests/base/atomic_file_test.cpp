#include "base/atomic_file.hpp"

#include "base/error.hpp"
#include "error_of.hpp"
#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nf4bench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class AtomicFileTest : public test::FolderTest {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
};

TEST_F(AtomicFileTest, AppearsWholeOnCommit) {
  AtomicFile file(folder_ / "out.json");
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(folder_ / "out.json"));
  file.commit();
  EXPECT_EQ(test::read_file(folder_ / "out.json"), "one two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
  {
    AtomicFile file(folder_ / "out.json");
    file.write("half");
    EXPECT_EQ(files(), 1u);
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(AtomicFileTest, KeepsTheOldFileWithoutCommit) {
  write_file(folder_ / "out.json", "old");
  {
    AtomicFile file(folder_ / "out.json");
    file.write("new");
  }
  EXPECT_EQ(test::read_file(folder_ / "out.json"), "old");
}

TEST_F(AtomicFileTest, ReplacesTheOldFileOnCommit) {
  write_file(folder_ / "out.json", "a longer old text");
  write_file(folder_ / "out.json", "new");
  EXPECT_EQ(test::read_file(folder_ / "out.json"), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, WritesALinksTargetAndKeepsTheLink) {
  fs::create_directory(folder_ / "real");
  fs::create_symlink("real/out.json", folder_ / "link.json");
  write_file(folder_ / "link.json", "first");   // target not there yet
  write_file(folder_ / "link.json", "second");  // target there
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.json"));
  EXPECT_EQ(test::read_file(folder_ / "real" / "out.json"), "second");
}

TEST_F(AtomicFileTest, HonoursTheUmask) {
  const mode_t before = umask(0027);
  write_file(folder_ / "out.json", "x");
  umask(before);
  EXPECT_EQ(static_cast<unsigned>(fs::status(folder_ / "out.json").permissions()), 0640u);
}

TEST_F(AtomicFileTest, WritesManyBytes) {
  std::string text(5'000'000, 'x');
  text.back() = 'y';
  write_file(folder_ / "big", text);
  EXPECT_EQ(test::read_file(folder_ / "big"), text);
}

// Expects an output error whose one line names `path` and says `reason`.
template <typename Action>
void expect_failure(const fs::path& path, const std::string& reason, Action action) {
  EXPECT_THAT(test::error_of(ErrorKind::kOutput, action),
              AllOf(HasSubstr(path.string()), HasSubstr(reason), Not(HasSubstr("\n"))));
}

TEST_F(AtomicFileTest, NamesAMissingFolder) {
  const fs::path path = folder_ / "missing" / "out.json";
  expect_failure(path, "No such file", [&] { AtomicFile file(path); });
}

TEST_F(AtomicFileTest, RefusesAFolder) {
  expect_failure(folder_, "directory", [&] { AtomicFile file(folder_); });
  EXPECT_TRUE(fs::is_directory(folder_));
}

TEST_F(AtomicFileTest, ReportsAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  expect_failure("/dev/full", "No space left", [] { write_file("/dev/full", "text"); });
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(AtomicFileTest, WritesDevicesInPlace) {
  write_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(AtomicFileTest, RefusesToWriteAfterCommit) {
  AtomicFile file(folder_ / "out.json");
  file.commit();
  EXPECT_THROW(file.write("late"), Error);
  EXPECT_THROW(file.commit(), Error);
  EXPECT_EQ(test::read_file(folder_ / "out.json"), "");
}

// A process that is killed while it writes cannot remove what it wrote.
void die_while_writing(const fs::path& path) {
  const pid_t child = fork();
  if (child == 0) {
    AtomicFile file(path);
    file.write("half");
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
}

TEST_F(AtomicFileTest, LeftoversOfKilledProcessesAreRemovedAndNothingElse) {
  write_file(folder_ / "out.json", "old");
  for (const char* other : {".out.json.0123.tmp", ".out.json.0123456g.tmp", "out.json.tmp",
                            ".other.json.01234567.tmp"}) {
    std::ofstream(folder_ / other) << "mine";
  }
  die_while_writing(folder_ / "out.json");
  die_while_writing(folder_ / "out.json");
  EXPECT_EQ(files(), 7u);
  remove_leftovers(folder_ / "out.json");
  EXPECT_EQ(files(), 5u);
  EXPECT_EQ(test::read_file(folder_ / "out.json"), "old");
}

TEST_F(AtomicFileTest, LeftoversAreNotWhatALivingProcessWrites) {
  AtomicFile file(folder_ / "out.json");
  file.write("new");
  remove_leftovers(folder_ / "out.json");
  file.commit();
  EXPECT_EQ(test::read_file(folder_ / "out.json"), "new");
}

TEST_F(AtomicFileTest, LeftoversBehindALinkAreFound) {
  fs::create_directory(folder_ / "real");
  fs::create_symlink("real/out.json", folder_ / "link.json");
  die_while_writing(folder_ / "link.json");
  EXPECT_FALSE(fs::is_empty(folder_ / "real"));
  remove_leftovers(folder_ / "link.json");
  EXPECT_TRUE(fs::is_empty(folder_ / "real"));
}

// Two processes at once: one writes, the other cleans up all the time. No write is lost. In memory,
// where writes are fast enough to meet the cleaner at every step.
TEST_F(AtomicFileTest, SurvivesACleanerThatNeverRests) {
  std::string pattern = "/dev/shm/nf4bench-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) GTEST_SKIP() << "no /dev/shm here";
  fs::remove_all(folder_);
  folder_ = pattern;
  const pid_t cleaner = fork();
  if (cleaner == 0) {
    for (;;) remove_leftovers(folder_ / "out.json");
  }
  int lost = 0;
  for (int i = 0; i < 6000 && lost == 0; ++i) {
    try {
      write_file(folder_ / "out.json", "text");
    } catch (const Error&) {
      ++lost;
    }
  }
  kill(cleaner, SIGKILL);
  waitpid(cleaner, nullptr, 0);
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, AsksItsCheckBeforeItReplacesAnything) {
  write_file(folder_ / "out.json", "old");
  AtomicFile file(folder_ / "out.json", [] { throw Error(ErrorKind::kUsage, "not this one"); });
  file.write("new");
  EXPECT_THROW(file.commit(), Error);
  EXPECT_EQ(test::read_file(folder_ / "out.json"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, OfAPipeThatNobodyReadsFailsAtOnce) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  expect_failure(folder_ / "pipe", "No such device",
                 [&] { const AtomicFile file(folder_ / "pipe"); });
}

TEST_F(AtomicFileTest, TakesARelativeName) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  write_file("plain.json", "here");
  fs::current_path(before);
  EXPECT_EQ(test::read_file(folder_ / "plain.json"), "here");
}

}  // namespace
}  // namespace nf4bench
