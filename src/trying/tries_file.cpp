#include "trying/tries_file.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/file_lock.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace nf4bench::trying {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;

[[noreturn]] void refuse(const fs::path& path) {
  throw Error(ErrorKind::kOutput, fmt::format("cannot write {}: {}", escaped(path.string()),
                                              std::generic_category().message(errno)));
}

// What a process that was killed left of a line is ended, so that the next one stands alone.
bool lacks_line_end(int file) {
  struct stat status = {};
  if (::fstat(file, &status) != 0 || status.st_size == 0) return false;
  char last = '\n';
  return ::pread(file, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

}  // namespace

fs::path tries_file_of(const std::string& file) {
  return file.ends_with(".jsonl") ? fs::path(file) : folder_of(file) / "tries.jsonl";
}

void append(const fs::path& path, const std::string& lines) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!file.is_open()) refuse(path);
  while (::flock(file.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  const std::string text = (lacks_line_end(file.get()) ? "\n" : "") + lines;
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) refuse(path);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

Tries read_tries(const fs::path& path, const std::string& name) {
  Tries tries;
  std::error_code error;
  if (!fs::exists(path, error)) return tries;
  std::istringstream lines(read_input(path, kMostBytes));
  for (std::string line; std::getline(lines, line);) {
    try {
      Attempt attempt = attempt_from_json(line, path.string());
      if (name.empty() || attempt.file == name) tries.attempts.push_back(std::move(attempt));
    } catch (const Error&) {
      ++tries.passed_over;
    }
  }
  return tries;
}

}  // namespace nf4bench::trying
