#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace nf4bench {

// Locks between processes. The system drops them when their process ends, however it ends. Where a
// file system has no locks, or a lock file cannot be made, nothing is locked and nobody is told:
// a lock warns of a mistake and is no reason to refuse work.

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

// The right to write an output, held through a file ".NAME.lock" beside it that is removed at the
// end.
class OutputLock {
 public:
  explicit OutputLock(const std::filesystem::path& output);
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;
  ~OutputLock() { release(); }

  void release();

  // Another process has it.
  bool is_taken() const { return is_taken_; }

  // That process's number, as far as it is known: "1234".
  const std::string& holder() const { return holder_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  bool is_taken_ = false;
  std::string holder_;
};

// One of any number of processes that use the same thing at a time, each of which learns of the
// others. All of them name the same file, which stays.
class SharedUse {
 public:
  explicit SharedUse(const std::filesystem::path& file);

  // Others used it when this process began to.
  bool had_company() const { return had_company_; }

  // Others began to use it after this process did, whether they still do or not.
  bool got_company() const;

 private:
  Descriptor file_;
  bool had_company_ = false;
  std::int64_t arrivals_ = 0;  // bytes in the file, one for each process since the last was alone
};

}  // namespace nf4bench
