#include "base/output_target.hpp"

#include "base/error.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

class OutputTargetTest : public test::FolderTest {
 protected:
  OutputTargetTest() { write("input"); }

  void write(const std::string& name) const { std::ofstream(folder_ / name) << "text"; }

  OutputTarget target(const std::string& name) const {
    return {.option = "-o",
            .path = (folder_ / name).string(),
            .read = {{folder_ / "input", "the input"}},
            .kind = "a poem",
            .is_of_kind = [](std::string_view text) { return text.starts_with("poem"); }};
  }

  // The kind of the error; empty when the output is let through.
  static std::optional<ErrorKind> refusal(const OutputTarget& target) {
    try {
      check_output(target);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      EXPECT_TRUE(std::string(error.what()).starts_with("-o: ")) << error.what();
      return error.kind();
    }
    return std::nullopt;
  }
};

TEST_F(OutputTargetTest, LetsNewFilesEmptyFilesAndOlderOnesOfItsKindThrough) {
  EXPECT_EQ(refusal(target("new")), std::nullopt);
  std::ofstream(folder_ / "empty").close();
  EXPECT_EQ(refusal(target("empty")), std::nullopt);
  std::ofstream(folder_ / "older") << "poem of old";
  EXPECT_EQ(refusal(target("older")), std::nullopt);
  EXPECT_EQ(refusal({.option = "-o", .path = "/dev/null"}), std::nullopt);
  EXPECT_EQ(refusal({.option = "-o", .path = "/dev/full"}), std::nullopt);
  EXPECT_EQ(refusal({.option = "-o", .path = "-"}), std::nullopt);
}

TEST_F(OutputTargetTest, WantsForceForOtherFiles) {
  write("other");
  OutputTarget other = target("other");
  EXPECT_EQ(refusal(other), ErrorKind::kUsage);
  other.force = true;
  EXPECT_EQ(refusal(other), std::nullopt);
}

TEST_F(OutputTargetTest, NeverLetsAFileThroughThatIsRead) {
  fs::create_symlink("input", folder_ / "link");
  fs::create_hard_link(folder_ / "input", folder_ / "hard");
  for (const char* name : {"input", "link", "hard", "./input", "../input"}) {
    OutputTarget read = target(name);
    if (std::string(name).starts_with("..")) {
      read.path = (folder_ / ".." / folder_.filename() / "input").string();
    }
    EXPECT_EQ(refusal(read), ErrorKind::kUsage) << name;
    read.force = true;
    EXPECT_EQ(refusal(read), ErrorKind::kUsage) << name;
  }
}

TEST_F(OutputTargetTest, NeverLetsAFileIntoAFolderThatIsRead) {
  OutputTarget inside = target("new");
  inside.read = {{folder_, "the folder"}};
  EXPECT_EQ(refusal(inside), ErrorKind::kUsage);
  fs::create_directory(folder_ / "below");
  inside.path = (folder_ / "below/new").string();
  EXPECT_EQ(refusal(inside), std::nullopt);
}

TEST_F(OutputTargetTest, RefusesWhatCannotBeAFile) {
  fs::create_directory(folder_ / "folder");
  fs::create_symlink("loop", folder_ / "loop");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (const char* name :
       {"folder", "folder/", "loop", "pipe", "missing/new", "input/new", "new/"}) {
    OutputTarget bad = target(name);
    bad.force = true;
    EXPECT_EQ(refusal(bad), ErrorKind::kOutput) << name;
  }
  EXPECT_EQ(refusal({.option = "-o", .path = "/dev/zero"}), ErrorKind::kOutput);
  EXPECT_EQ(refusal({.option = "-o", .path = ""}), ErrorKind::kOutput);
  EXPECT_EQ(refusal({.option = "-o", .path = std::string("a\0b", 3)}), ErrorKind::kOutput);
}

TEST_F(OutputTargetTest, RefusesAFolderThatCannotBeWritten) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  fs::create_directory(folder_ / "locked");
  fs::permissions(folder_ / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(refusal(target("locked/new")), ErrorKind::kOutput);
}

}  // namespace
}  // namespace nf4bench
