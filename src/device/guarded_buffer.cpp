#include "device/guarded_buffer.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace nf4bench::device {

bool GuardedBuffer::is_poisoned(const std::byte* first) const {
  std::vector<std::byte> guard(static_cast<std::size_t>(guard_));
  memory_->copy_out(guard, first);
  return std::all_of(guard.begin(), guard.end(),
                     [](std::byte byte) { return byte == std::byte{kPoisonByte}; });
}

void GuardedBuffer::poison() const {
  if (block_.bytes() > 0) memory_->fill(block_.data(), kPoisonByte, block_.bytes());
}

void GuardedBuffer::check_guards(const char* what, std::int64_t used) const {
  if (guard_ == 0 || block_.bytes() == 0) return;
  if (!is_poisoned(block_.data())) {
    throw Error(ErrorKind::kDevice, fmt::format("wrote before the start of its {}", what));
  }
  if (!is_poisoned(data() + used)) {
    throw Error(ErrorKind::kDevice, fmt::format("wrote past the end of its {}", what));
  }
}

}  // namespace nf4bench::device
