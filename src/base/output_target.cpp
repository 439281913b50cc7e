#include "base/output_target.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/file_lock.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <system_error>
#include <unistd.h>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBeginningBytes = 4096;

[[noreturn]] void refuse(ErrorKind kind, const OutputTarget& target, const std::string& problem) {
  throw Error(kind, "{}: {} {}", target.option, escaped(target.path), problem);
}

// What a path leads to; empty when there is nothing. Links are followed.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// /dev/null and /dev/full are two of the memory devices.
constexpr unsigned kNull = 3;
constexpr unsigned kFull = 7;

bool is_memory_device(const struct stat& status, unsigned number) {
  constexpr unsigned kMemoryDevices = 1;
  return S_ISCHR(status.st_mode) && major(status.st_rdev) == kMemoryDevices &&
         minor(status.st_rdev) == number;
}

// What the shell or a parent has opened for this process: its streams, and >(...) of bash.
bool is_held_open(const struct stat& status) {
  constexpr int kDescriptors = 1024;
  for (int descriptor = 0; descriptor < kDescriptors; ++descriptor) {
    struct stat held = {};
    if (::fstat(descriptor, &held) == 0 && is_same(held, status)) return true;
  }
  return false;
}

// The first bytes of the regular file at `path`; none when it cannot be read.
std::string beginning_of(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string bytes(kBeginningBytes, '\0');
  const ssize_t count = file.is_open() ? ::pread(file.get(), bytes.data(), bytes.size(), 0) : 0;
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

void refuse_if_read(const OutputTarget& target, const struct stat& status) {
  for (const FileRead& each : target.read) {
    const auto read = status_of(each.path);
    if (!read || !is_same(*read, status)) continue;
    refuse(ErrorKind::kUsage, target,
           fmt::format("is {} ({}), which would be lost; name another file", each.what,
                       escaped(each.path.native())));
  }
}

// A new file must not become part of an input by the place where it lies.
void refuse_in_folder_that_is_read(const OutputTarget& target, const fs::path& final_path) {
  const auto folder = status_of(folder_of(final_path));
  for (const FileRead& each : target.read) {
    const auto read = status_of(each.path);
    if (!read || !folder || !S_ISDIR(read->st_mode) || !is_same(*read, *folder)) continue;
    refuse(ErrorKind::kUsage, target,
           fmt::format("lies in {} ({}) and would be read with it from then on; name another "
                       "folder",
                       each.what, escaped(each.path.native())));
  }
}

// A lock and temporary files are made and removed beside the output. None of them may be an input.
void refuse_if_helper_is_read(const OutputTarget& target, const fs::path& final_path) {
  const auto folder = status_of(folder_of(final_path));
  const auto lock = status_of(lock_file_of(final_path));
  for (const FileRead& each : target.read) {
    const fs::path real = behind_links(each.path);
    const auto read = status_of(real);
    const auto home = status_of(folder_of(real));
    const bool is_lock = read && lock && is_same(*read, *lock);
    const bool is_leftover = folder && home && is_same(*folder, *home) &&
                             is_temporary_name(final_path, real.filename().native());
    if (!is_lock && !is_leftover) continue;
    refuse(ErrorKind::kUsage, target,
           fmt::format("is written with the help of a file that is {} ({}), which would be lost; "
                       "name another file",
                       each.what, escaped(each.path.native())));
  }
}

[[noreturn]] void refuse_unwritable(const OutputTarget& target, int code) {
  refuse(ErrorKind::kOutput, target,
         fmt::format("cannot be written: {}", std::generic_category().message(code)));
}

// `code` says why there is no file at the path yet.
void check_new_file(const OutputTarget& target, const fs::path& final_path, int code) {
  if (code != ENOENT) refuse_unwritable(target, code);
  if (final_path.filename().empty()) {
    refuse(ErrorKind::kOutput, target, "is the name of a folder; wanted that of a file");
  }
}

void check_no_file(const OutputTarget& target, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) {
    refuse(ErrorKind::kOutput, target, "is a folder; wanted a file");
  }
  if (is_memory_device(status, kNull) || is_memory_device(status, kFull)) return;
  if (is_held_open(status)) return;
  if (S_ISFIFO(status.st_mode)) {
    refuse(ErrorKind::kOutput, target,
           "is a FIFO, and its reader may never come; write to stdout and pipe that");
  }
  refuse(ErrorKind::kOutput, target, "is no regular file; name another one");
}

void check_older_file(const OutputTarget& target, const struct stat& status) {
  if (status.st_size == 0 || target.force) return;
  if (target.is_of_kind && target.is_of_kind(beginning_of(target.path))) return;
  refuse(ErrorKind::kUsage, target,
         target.kind.empty()
             ? "exists; --force replaces it"
             : fmt::format("exists and is not {}; --force replaces it all the same", target.kind));
}

}  // namespace

void check_output(const OutputTarget& target) {
  struct stat status = {};
  if (target.path == "-") {
    if (::fstat(STDOUT_FILENO, &status) == 0) refuse_if_read(target, status);
    return;
  }
  if (target.path.empty() || target.path.find('\0') != std::string::npos) {
    refuse(ErrorKind::kOutput, target, "is not the name of a file");
  }
  const bool exists = ::stat(target.path.c_str(), &status) == 0;
  const int code = errno;
  const fs::path final_path = behind_links(target.path);
  if (!exists) check_new_file(target, final_path, code);
  if (exists) refuse_if_read(target, status);
  if (exists && !S_ISREG(status.st_mode)) return check_no_file(target, status);
  if (::access(folder_of(final_path).c_str(), W_OK) != 0) refuse_unwritable(target, errno);
  refuse_in_folder_that_is_read(target, final_path);
  refuse_if_helper_is_read(target, final_path);
  if (exists) check_older_file(target, status);
}

bool is_stdout(const std::string& path) {
  if (path == "-") return true;
  struct stat out = {};
  const auto status = status_of(path);
  return status && ::fstat(STDOUT_FILENO, &out) == 0 && is_same(*status, out) &&
         !is_memory_device(out, kNull);
}

void make_folder(const std::string& option, const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return;
  throw Error(ErrorKind::kOutput, "{}: the folder {} cannot be made: {}", option, escaped(path),
              error.message());
}

}  // namespace nf4bench
