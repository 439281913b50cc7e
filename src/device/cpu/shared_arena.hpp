#pragma once

#include "base/file_lock.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace nf4bench::device {

// Memory that other processes map, too, each at an address of its own: a place in it is an offset.
class SharedArena {
 public:
  // `name` is for listings of the system. Throws Error(kDevice) when the system gives no memory of
  // this kind.
  explicit SharedArena(const char* name);
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;
  ~SharedArena();

  // Aligned as buffers are, contents undefined. Throws Error(kDevice) when there is no room left.
  std::byte* allocate(std::int64_t bytes);
  void release(std::byte* block) noexcept;

  bool holds(const void* place) const { return place >= base_ && place < base_ + bytes_; }

  std::byte* base() const { return base_; }
  std::int64_t bytes() const { return bytes_; }  // of addresses; memory is taken as it is used
  int descriptor() const { return file_.get(); }

  // What is in use lies before this offset. When nothing is, all begins anew.
  std::int64_t used() const;
  std::uint64_t beginnings() const;

 private:
  void forget(std::int64_t from, std::int64_t to) noexcept;

  Descriptor file_;
  std::byte* base_ = nullptr;
  std::int64_t bytes_ = 0;
  mutable std::mutex mutex_;
  std::unordered_map<std::byte*, std::int64_t> blocks_;  // with their sizes
  std::int64_t used_ = 0;
  std::uint64_t beginnings_ = 0;
};

// Asks for large pages where memory of one process alone has them, too, so that calls take as long
// in either.
void use_usual_pages(void* mapped, std::int64_t bytes);

// The buffers of a device whose variants may work in other processes: those may read the first, and
// write the second.
struct SharedBuffers {
  SharedArena inputs{"nf4bench inputs"};
  SharedArena outputs{"nf4bench outputs"};
};

}  // namespace nf4bench::device
