#pragma once

#include "device/cuda/cuda_resources.hpp"

#include <cstdint>

namespace nf4bench::device {

// A device buffer that ends exactly where its content does, or one between guard bytes that nobody
// may write.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  GuardedBuffer(std::int64_t bytes, std::int64_t guard)
      : memory_(bytes > 0 ? bytes + 2 * guard : 0), bytes_(bytes), guard_(guard) {}

  // Null when it holds nothing.
  std::uint8_t* data() const { return bytes_ > 0 ? memory_.data() + guard_ : nullptr; }
  std::int64_t bytes() const { return bytes_; }

  // Fills content and guards with the poison byte.
  void poison(cudaStream_t stream) const;

  // Throws Error(kDevice) naming `what` when a guard byte is no longer what poison() left there.
  // The work that might have written it has completed. Of a buffer that is larger than needed,
  // `used` bytes are content and the guard is behind them.
  void check_guards(const char* what, std::int64_t used) const;

 private:
  CudaBuffer memory_;
  std::int64_t bytes_ = 0;
  std::int64_t guard_ = 0;
};

}  // namespace nf4bench::device
