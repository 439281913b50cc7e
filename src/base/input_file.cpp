#include "base/input_file.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <system_error>
#include <unistd.h>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

// Linux transfers at most 2 GiB a call; smaller pieces keep a signal's delay short.
constexpr std::size_t kPieceBytes = std::size_t{64} << 20;

Error failure(const fs::path& path, const char* what, int code) {
  return input_error(escaped(path.native()),
                     fmt::format("{}: {}", what, std::generic_category().message(code)));
}

const char* kind_of(const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return "a directory";
  if (S_ISFIFO(status.st_mode)) return "a FIFO";
  if (S_ISSOCK(status.st_mode)) return "a socket";
  if (S_ISCHR(status.st_mode)) return "a character device";
  if (S_ISBLK(status.st_mode)) return "a block device";
  return "something else";
}

bool is_unchanged(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// Fills `text`; fewer bytes when the file ends before.
std::size_t fill(const fs::path& path, const Descriptor& descriptor, std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got =
        ::pread(descriptor.get(), text.data() + done, std::min(text.size() - done, kPieceBytes),
                static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw failure(path, "cannot be read", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace

InputFile open_input(const fs::path& path) {
  const std::string name = escaped(path.native());
  if (path.native().find('\0') != std::string::npos) {
    throw input_error(name, "a path cannot hold a NUL character");
  }
  int number = -1;
  do {
    number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (number < 0 && errno == EINTR);
  InputFile file = {.descriptor = Descriptor(number)};
  if (number < 0) throw failure(path, "cannot be opened", errno);
  if (::fstat(number, &file.status) != 0) throw failure(path, "cannot be examined", errno);
  if (!S_ISREG(file.status.st_mode)) {
    throw input_error(name, "file type", kind_of(file.status), "a regular file");
  }
  return file;
}

std::string read_input(const fs::path& path, std::uint64_t most_bytes) {
  const InputFile file = open_input(path);
  const auto bytes = static_cast<std::uint64_t>(file.status.st_size);
  if (bytes > most_bytes) {
    throw input_error(escaped(path.native()), "size", fmt::format("{} bytes", bytes),
                      fmt::format("at most {}", most_bytes));
  }
  std::string text(bytes, '\0');
  const std::size_t done = fill(path, file.descriptor, text);
  struct stat status = {};
  if (::fstat(file.descriptor.get(), &status) != 0)
    throw failure(path, "cannot be examined", errno);
  if (done < bytes || !is_unchanged(file.status, status)) {
    throw input_error(escaped(path.native()),
                      "the file changed while it was read; try again when its writer has finished");
  }
  return text;
}

std::string text_in(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace nf4bench
