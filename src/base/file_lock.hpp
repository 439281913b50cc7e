#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace nf4bench {

// Locks between processes. The system drops them when their process ends, however it ends. Where a
// file system has no locks, or a lock file cannot be made, nothing is locked and there is no
// message: locks only warn of mistakes, and a missing lock is no reason to refuse work.

// A file descriptor that is closed at the end; -1 for none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

// ".NAME.lock" beside `output`.
std::filesystem::path lock_file_of(const std::filesystem::path& output);

// The right to write an output, held through its lock file, which is removed at the end. A file of
// that name which is no lock stays as it is, and nothing is locked.
class OutputLock {
 public:
  explicit OutputLock(const std::filesystem::path& output);
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;
  ~OutputLock() { release(); }

  void release();

  // Another process has it.
  bool is_taken() const { return is_taken_; }

  // The number of that process, "1234"; empty when it is not known.
  const std::string& holder() const { return holder_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  bool is_taken_ = false;
  std::string holder_;
};

// One of several processes that use the same thing at the same time and want to know of each other.
// All of them name the same file, which is never removed.
class SharedUse {
 public:
  explicit SharedUse(const std::filesystem::path& file);

  // Others were using it when this process began.
  bool had_others() const { return had_others_; }

  // Others have begun to use it since then, even if they have stopped again.
  bool got_others() const;

 private:
  Descriptor file_;
  bool had_others_ = false;
  std::int64_t arrivals_ = 0;  // bytes in the file, one for each process since the last was alone
};

}  // namespace nf4bench
