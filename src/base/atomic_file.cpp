#include "base/atomic_file.hpp"

#include "base/error.hpp"
#include "base/file_lock.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <random>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const char* action, int code) {
  throw Error(ErrorKind::kOutput, "{}: cannot {}: {}", escaped(path.string()), action,
              std::generic_category().message(code));
}

int open_file(const fs::path& path, int flags) {
  for (;;) {
    const int descriptor = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EINTR) return descriptor;
  }
}

// Makes the rename itself durable. It still holds where the folder cannot be synced.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// What the names of all temporary files for `path` begin with; eight hexadecimal digits and the
// ending follow.
std::string temporary_prefix(const fs::path& path) {
  return fmt::format(".{}.", path.filename().string().substr(0, 200));
}

constexpr std::string_view kTemporaryEnding = ".tmp";
constexpr std::size_t kTemporaryDigits = 8;

bool is_temporary_of(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(kTemporaryEnding)) return false;
  name.remove_prefix(prefix.size());
  return name.size() == kTemporaryDigits + kTemporaryEnding.size() &&
         name.find_first_not_of("0123456789abcdef") == kTemporaryDigits;
}

// Marks a new temporary file as one of a living process. Returns false when another process was
// faster and has removed it as a leftover.
bool claim(int descriptor) {
  while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat status = {};
  return ::fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

void remove_unless_locked(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path, Check check)
    : path_(behind_links(path)), check_(std::move(check)) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail(path, "write a file there", EISDIR);
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    // Devices and pipes are written in place; a rename would replace them by a file. They are
    // opened by the given path, because a link in /proc or /dev/fd does not hold one.
    path_ = path;
    descriptor_ = open_file(path, O_NONBLOCK | O_NOCTTY);  // else a pipe nobody reads would wait
    if (descriptor_ < 0) fail(path, "open it for writing", errno);
    ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
    return;
  }
  std::random_device random;
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = folder_of(path_) /
                 fmt::format("{}{:08x}{}", temporary_prefix(path_), random(), kTemporaryEnding);
    descriptor_ = open_file(temporary_, O_CREAT | O_EXCL);
    if (descriptor_ < 0 && (errno != EEXIST || attempt == 100)) {
      fail(path, "create a file in its folder", errno);
    }
    if (descriptor_ >= 0 && !claim(descriptor_)) {
      ::close(descriptor_);
      descriptor_ = -1;
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
  // Its twin keeps the lock, so that nobody takes the file for a leftover before it is renamed.
  const Descriptor twin(is_temporary ? ::dup(descriptor_) : -1);
  const int closed = ::close(descriptor_);
  const int close_error = errno;
  descriptor_ = -1;
  if (closed == 0 && !is_temporary) return;
  const int rename_error = closed == 0 ? give_name() : 0;
  if (closed == 0 && rename_error == 0) {
    sync_folder(folder_of(path_));
    return;
  }
  if (is_temporary) ::unlink(temporary_.c_str());
  fail(path_, closed == 0 ? "rename the finished file" : "close it",
       closed == 0 ? rename_error : close_error);
}

// A file that appears at the path after the check is not replaced but checked as well.
int AtomicFile::give_name() const {
  for (;;) {
    check_again();
    struct stat ignored = {};
    const bool exists = ::lstat(path_.c_str(), &ignored) == 0;
    const unsigned flags = exists ? 0 : RENAME_NOREPLACE;
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags) == 0) return 0;
    if (!exists && errno == EEXIST) continue;
    if (exists || (errno != EINVAL && errno != ENOSYS)) return errno;
    // This file system has no such flag.
    return ::rename(temporary_.c_str(), path_.c_str()) == 0 ? 0 : errno;
  }
}

void AtomicFile::check_again() const {
  if (!check_) return;
  try {
    check_();
  } catch (...) {
    ::unlink(temporary_.c_str());
    throw;
  }
}

void remove_leftovers(const fs::path& path) noexcept {
  try {
    const fs::path final_path = behind_links(path);
    const std::string prefix = temporary_prefix(final_path);
    std::error_code error;
    fs::directory_iterator end;
    fs::directory_iterator it(folder_of(final_path), error);
    for (; !error && it != end; it.increment(error)) {
      if (is_temporary_of(prefix, it->path().filename().native())) remove_unless_locked(it->path());
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): leftovers do no harm
  }
}

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

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool is_temporary_name(const fs::path& path, std::string_view name) {
  return is_temporary_of(temporary_prefix(path), name);
}

void write_file(const fs::path& path, std::string_view text, AtomicFile::Check check) {
  AtomicFile file(path, std::move(check));
  file.write(text);
  file.commit();
}

}  // namespace nf4bench
