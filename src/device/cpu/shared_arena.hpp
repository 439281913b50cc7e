#pragma once

#include "base/file_lock.hpp"
#include "device/shared_buffers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace nf4bench::device {

// What other processes may do with memory, however they open it.
enum class OthersMay : std::uint8_t { kRead, kWrite };

// Memory that other processes map, too, each at an address of its own: a place in it is an offset.
class SharedArena {
 public:
  // `name` is for listings of the system. Throws Error(kDevice) when the system gives no memory of
  // this kind.
  SharedArena(const char* name, OthersMay others);
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

// Places of outputs begin here, those of inputs at 1.
inline constexpr std::uint64_t kOutputPlaces = std::uint64_t{1} << 62;

// How far a process has to have entered an arena into its tables of pages.
struct ArenaUse {
  std::int64_t used = 0;
  std::uint64_t beginnings = 0;
};

// The buffers of the CPU device: other processes may read the first, and write the second.
struct SharedArenas final : SharedBuffers {
  Sharing sharing() const override { return Sharing::kFiles; }
  std::array<int, 2> files() const override { return {inputs.descriptor(), outputs.descriptor()}; }
  std::string introduction() const override;              // the size of each
  std::string news(std::uint64_t& known) const override;  // the use of each
  std::uint64_t place_of(const void* address) const override;

  SharedArena inputs{"nf4bench inputs", OthersMay::kRead};
  SharedArena outputs{"nf4bench outputs", OthersMay::kWrite};
};

}  // namespace nf4bench::device
