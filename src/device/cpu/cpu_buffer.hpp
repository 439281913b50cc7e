#pragma once

#include "device/device.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace nf4bench::device {

// Memory aligned as a Job promises, with `guard` bytes before and behind it that nobody may write.
// Without guard bytes it ends exactly where its content does, so that a sanitizer sees every stray
// access. `guard` is a multiple of the alignment.
class CpuBuffer {
 public:
  static constexpr std::align_val_t kAlignment{256};

  CpuBuffer() = default;
  explicit CpuBuffer(std::size_t bytes, std::size_t guard = 0)
      : memory_(static_cast<std::byte*>(::operator new(bytes + 2 * guard, kAlignment))),
        bytes_(bytes),
        guard_(guard) {}

  std::byte* data() const { return memory_ ? memory_.get() + guard_ : nullptr; }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> span() const { return {data(), bytes_}; }

  // Fills content and guards with the poison byte, on all cores.
  void poison() const;

  // Throws Error(kDevice) naming `what` when a guard byte is no longer what poison() wrote. Of a
  // buffer that is larger than needed, `used` bytes are content and the guard is behind them.
  void check_guards(const char* what, std::size_t used) const;

 private:
  struct Delete {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte[], Delete> memory_;
  std::size_t bytes_ = 0;
  std::size_t guard_ = 0;
};

}  // namespace nf4bench::device
