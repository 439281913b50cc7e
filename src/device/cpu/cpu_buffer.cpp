#include "device/cpu/cpu_buffer.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace nf4bench::device {
namespace {

// Bytes that a thread fills at a time.
constexpr std::int64_t kFillGrain = std::int64_t{1} << 20;

bool is_poisoned(const std::byte* first, std::size_t bytes) {
  return std::all_of(first, first + bytes,
                     [](std::byte byte) { return byte == std::byte{kPoisonByte}; });
}

}  // namespace

void CpuBuffer::poison() const {
  std::byte* const memory = memory_.get();
  const auto bytes = static_cast<std::int64_t>(bytes_ + 2 * guard_);
  if (memory == nullptr) return;
  parallel_for(bytes, kFillGrain, [memory](std::int64_t first, std::int64_t last) {
    std::memset(memory + first, kPoisonByte, static_cast<std::size_t>(last - first));
  });
}

void CpuBuffer::check_guards(const char* what, std::size_t used) const {
  if (!memory_) return;
  if (!is_poisoned(memory_.get(), guard_)) {
    throw Error(ErrorKind::kDevice, fmt::format("wrote before the start of its {}", what));
  }
  if (!is_poisoned(data() + used, guard_)) {
    throw Error(ErrorKind::kDevice, fmt::format("wrote past the end of its {}", what));
  }
}

}  // namespace nf4bench::device
