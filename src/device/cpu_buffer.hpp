#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "device/device.hpp"

namespace nf4bench {

// Memory aligned as a Job promises, with `guard` bytes behind it that nobody may write. Without
// guard bytes it ends exactly where its content does, so that a sanitizer sees every stray access.
class CpuBuffer {
 public:
  static constexpr std::align_val_t kAlignment{256};

  CpuBuffer() = default;
  explicit CpuBuffer(std::size_t bytes, std::size_t guard = 0)
      : memory_(static_cast<std::byte*>(::operator new(bytes + guard, kAlignment))),
        bytes_(bytes),
        guard_(guard) {}

  std::byte* data() const { return memory_.get(); }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> span() const { return {memory_.get(), bytes_}; }

  // Fills content and guard with the poison byte, on all cores.
  void poison() const;

  // False when a guard byte is no longer what poison() wrote.
  bool is_guard_intact() const {
    const std::byte* const guard = memory_.get() + bytes_;
    return std::all_of(guard, guard + guard_,
                       [](std::byte byte) { return byte == std::byte{kPoisonByte}; });
  }

 private:
  struct Delete {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte[], Delete> memory_;
  std::size_t bytes_ = 0;
  std::size_t guard_ = 0;
};

}  // namespace nf4bench
