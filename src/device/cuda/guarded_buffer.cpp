#include "device/cuda/guarded_buffer.hpp"

#include "base/error.hpp"
#include "device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace nf4bench::device {
namespace {

bool is_poisoned(const std::uint8_t* device_bytes, std::int64_t count) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count));
  check_cuda(cudaMemcpy(bytes.data(), device_bytes, bytes.size(), cudaMemcpyDeviceToHost),
             "read a guard");
  return std::all_of(bytes.begin(), bytes.end(),
                     [](unsigned char byte) { return byte == kPoisonByte; });
}

}  // namespace

void GuardedBuffer::poison(cudaStream_t stream) const {
  if (memory_.bytes() == 0) return;
  check_cuda(cudaMemsetAsync(memory_.data(), kPoisonByte, static_cast<std::size_t>(memory_.bytes()),
                             stream),
             "poison a buffer");
}

void GuardedBuffer::check_guards(const char* what, std::int64_t used) const {
  if (guard_ == 0 || memory_.bytes() == 0) return;
  if (!is_poisoned(memory_.data(), guard_)) {
    throw Error(ErrorKind::kDevice, fmt::format("wrote before the start of its {}", what));
  }
  if (!is_poisoned(memory_.data() + guard_ + used, guard_)) {
    throw Error(ErrorKind::kDevice, fmt::format("wrote past the end of its {}", what));
  }
}

}  // namespace nf4bench::device
