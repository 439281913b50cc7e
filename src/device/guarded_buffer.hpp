#pragma once

#include "device/memory.hpp"

#include <cstdint>

namespace nf4bench::device {

// A buffer that variants write: it ends exactly where its content does, or lies between guard bytes
// that nobody may write.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  // `guard` is a multiple of the alignment, or 0.
  GuardedBuffer(Memory& memory, std::int64_t bytes, std::int64_t guard)
      : memory_(&memory),
        block_(memory, bytes + 2 * guard, Access::kWrite),
        bytes_(bytes),
        guard_(guard) {}

  std::byte* data() const { return block_.data() == nullptr ? nullptr : block_.data() + guard_; }
  std::int64_t bytes() const { return bytes_; }

  // Fills content and guards with the poison byte.
  void poison() const;

  // Throws Error(kDevice) naming `what` when a guard byte is no longer what poison() left there.
  // The work that might have written it has completed. Of a buffer that is larger than needed,
  // `used` bytes are content and the guard is behind them.
  void check_guards(const char* what, std::int64_t used) const;

 private:
  bool is_poisoned(const std::byte* first) const;

  Memory* memory_ = nullptr;
  Buffer block_;
  std::int64_t bytes_ = 0;
  std::int64_t guard_ = 0;
};

}  // namespace nf4bench::device
