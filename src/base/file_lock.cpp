#include "base/file_lock.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace nf4bench {
namespace {

namespace fs = std::filesystem;

// What lock files hold.
constexpr std::string_view kDigits = "0123456789";  // the number of the process that has the lock
constexpr std::string_view kArrival = ".";          // one for each process that came

// Never follows a link: lock files lie where others may write.
int open_lock(const fs::path& path, int flags) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// 0, or what flock() failed with.
int lock(int descriptor, int operation) {
  while (::flock(descriptor, operation) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// True when `path` still leads to the open file: whoever held the lock before has removed it.
bool is_same_file(int descriptor, const fs::path& path) {
  struct stat opened = {};
  struct stat named = {};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::int64_t bytes_of(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 ? status.st_size : 0;
}

std::string text_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  const std::string_view read(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  return std::string(read.substr(0, read.find_first_not_of(kDigits)));
}

// True when the file begins with `letters` and nothing else: what is no lock must not be emptied.
bool holds_only(int descriptor, std::string_view letters) {
  std::array<char, 64> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  if (count < 0) return false;
  return std::string_view(text.data(), static_cast<std::size_t>(count))
             .find_first_not_of(letters) == std::string_view::npos;
}

// Another process that does the same holds the lock for a moment only. This does not wait longer
// than that, because anybody who may open the file could keep it locked.
void share(int descriptor) {
  constexpr int kAttempts = 100;
  constexpr std::chrono::milliseconds kPause{2};
  for (int i = 0; i < kAttempts && lock(descriptor, LOCK_SH | LOCK_NB) == EWOULDBLOCK; ++i) {
    std::this_thread::sleep_for(kPause);
  }
}

// The text only informs whoever reads the file. The lock holds even when it cannot be written.
void write_quietly(int descriptor, std::string_view text) {
  [[maybe_unused]] const ssize_t ignored = ::write(descriptor, text.data(), text.size());
}

void empty_quietly(int descriptor) {
  [[maybe_unused]] const int ignored = ::ftruncate(descriptor, 0);
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

fs::path lock_file_of(const fs::path& output) {
  return output.parent_path() / fmt::format(".{}.lock", output.filename().string().substr(0, 200));
}

OutputLock::OutputLock(const fs::path& output) : path_(lock_file_of(output)) {
  for (;;) {
    Descriptor file(open_lock(path_, O_CREAT));
    if (!file.is_open() || !holds_only(file.get(), kDigits)) return;
    const int failure = lock(file.get(), LOCK_EX | LOCK_NB);
    if (failure == EWOULDBLOCK) {
      is_taken_ = true;
      holder_ = text_of(file.get());
      return;
    }
    if (failure == 0 && !is_same_file(file.get(), path_)) continue;
    empty_quietly(file.get());
    write_quietly(file.get(), std::to_string(::getpid()));
    file_ = std::move(file);
    return;
  }
}

void OutputLock::release() {
  if (file_.is_open()) ::unlink(path_.c_str());
  file_ = Descriptor();
}

// A process that can lock the file for itself is the first one, and shares the lock from then on.
// Changing the lock takes two steps. A process that comes between them either still finds the file
// locked, or arrives later and is counted.
SharedUse::SharedUse(const fs::path& file) {
  // Linux may refuse O_CREAT for files of other users in a folder that everybody may write to.
  file_ = Descriptor(open_lock(file, O_APPEND));
  if (!file_.is_open()) {
    file_ = Descriptor(open_lock(file, O_APPEND | O_CREAT));
    if (file_.is_open()) ::fchmod(file_.get(), 0666);  // for all users, whatever the umask
  }
  if (file_.is_open() && !holds_only(file_.get(), kArrival)) file_ = Descriptor();
  if (!file_.is_open()) return;
  const int failure = lock(file_.get(), LOCK_EX | LOCK_NB);
  had_others_ = failure == EWOULDBLOCK;
  if (failure == 0) empty_quietly(file_.get());
  share(file_.get());
  write_quietly(file_.get(), kArrival);
  arrivals_ = bytes_of(file_.get());
}

bool SharedUse::got_others() const {
  return file_.is_open() && bytes_of(file_.get()) > arrivals_;
}

}  // namespace nf4bench
