#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const char* action, int code) {
  throw Error(ErrorKind::kOutput, fmt::format("{}: cannot {}: {}", escaped(path.string()), action,
                                              std::generic_category().message(code)));
}

int open_file(const fs::path& path, int flags) {
  for (;;) {
    const int descriptor = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EINTR) return descriptor;
  }
}

// Makes the rename itself durable; where the folder cannot be synced the rename still holds.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// The file that a chain of links ends at, whether it exists or not: the rename is to replace the
// file and not the link to it.
fs::path behind_links(fs::path path) {
  constexpr int kMaxLinks = 40;  // as many as Linux follows
  std::error_code code;
  for (int links = 0; links < kMaxLinks && fs::is_symlink(path, code); ++links) {
    const fs::path target = fs::read_symlink(path, code);
    if (code) break;
    path = path.parent_path() / target;  // an absolute target replaces the whole
  }
  return path;
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : path_(behind_links(path)) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail(path, "write a file there", EISDIR);
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    // Devices and pipes are written in place; a rename would replace them by a file. They are
    // opened by the path given: what a link in /proc or /dev/fd holds is no path.
    path_ = path;
    descriptor_ = open_file(path, 0);
    if (descriptor_ < 0) fail(path, "open it for writing", errno);
    return;
  }
  std::random_device random;
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = folder_of(path_) /
                 fmt::format(".{}.{:08x}.tmp", path_.filename().string().substr(0, 200), random());
    descriptor_ = open_file(temporary_, O_CREAT | O_EXCL);
    if (descriptor_ < 0 && (errno != EEXIST || attempt == 100)) {
      fail(path, "create a file in its folder", errno);
    }
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) fail(path_, "write after commit", EBADF);
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, "write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::commit() {
  if (descriptor_ < 0) fail(path_, "commit twice", EBADF);
  const bool is_temporary = !temporary_.empty();
  if (is_temporary && ::fsync(descriptor_) != 0) fail(path_, "flush it to disk", errno);
  const int closed = ::close(descriptor_);
  const int close_error = errno;
  descriptor_ = -1;
  if (closed == 0 && !is_temporary) return;
  if (closed == 0 && ::rename(temporary_.c_str(), path_.c_str()) == 0) {
    sync_folder(folder_of(path_));
    return;
  }
  const int rename_error = errno;
  if (is_temporary) ::unlink(temporary_.c_str());
  fail(path_, closed == 0 ? "rename the finished file" : "close it",
       closed == 0 ? rename_error : close_error);
}

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace nf4bench
