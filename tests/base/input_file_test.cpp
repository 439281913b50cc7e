#include "base/input_file.hpp"

#include "base/atomic_file.hpp"
#include "error_of.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <thread>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

class InputFileTest : public test::FolderTest {
 protected:
  static std::string refusal(const fs::path& path, std::uint64_t most_bytes = 100) {
    return test::error_of(ErrorKind::kInput, [&] { read_input(path, most_bytes); });
  }
};

TEST_F(InputFileTest, IsReadWhole) {
  write_file(folder_ / "x", std::string("a\0b\n", 4));
  EXPECT_EQ(read_input(folder_ / "x", 4), std::string("a\0b\n", 4));
  write_file(folder_ / "empty", "");
  EXPECT_EQ(read_input(folder_ / "empty", 0), "");
}

TEST_F(InputFileTest, ThatIsLongerThanAllowedIsRefused) {
  write_file(folder_ / "x", "12345");
  EXPECT_EQ(refusal(folder_ / "x", 4),
            (folder_ / "x").string() + ": size: found 5 bytes, wanted at most 4");
}

TEST_F(InputFileTest, ThatIsNoRegularFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  const std::string wanted = ": file type: found ";
  EXPECT_EQ(refusal(folder_ / "fifo"),
            (folder_ / "fifo").string() + wanted + "a FIFO, wanted a regular file");
  EXPECT_EQ(refusal("/dev/zero"),
            "/dev/zero" + wanted + "a character device, wanted a regular file");
  EXPECT_EQ(refusal(folder_), folder_.string() + wanted + "a directory, wanted a regular file");
}

TEST_F(InputFileTest, NameIsEscaped) {
  EXPECT_EQ(refusal("/absent\x1b[2J"),
            R"(/absent\x1b[2J: cannot be opened: No such file or directory)");
  EXPECT_EQ(refusal(std::string("a\0b", 3)), R"(a\u0000b: a path cannot hold a NUL character)");
}

TEST_F(InputFileTest, ThatGrowsWhileItIsReadIsRefused) {
  const fs::path path = folder_ / "x";
  write_file(path, std::string(32 << 20, 'x'));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    std::ofstream file(path, std::ios::app);
    while (!stop) file << "more" << std::flush;
  });
  std::string message;
  for (int i = 0; i < 100 && message.empty(); ++i) message = refusal(path, 1 << 30);
  stop = true;
  writer.join();
  EXPECT_EQ(message, path.string() +
                         ": the file changed while it was read; try again when its "
                         "writer has finished");
}

}  // namespace
}  // namespace nf4bench
