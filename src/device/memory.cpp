#include "device/memory.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <vector>

namespace nf4bench::device {

PoisonPattern strewn_poison(std::int64_t bytes, std::mt19937_64& random) {
  constexpr std::int64_t kFewestPieces = 64;
  constexpr std::int64_t kWidest = 32;
  const std::int64_t pieces = bytes / kPoisonPiece;
  const std::int64_t widest = std::clamp<std::int64_t>(pieces / kFewestPieces, 2, kWidest);
  const auto draw = [&random](std::int64_t below) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
  };
  // Odd: or all poison might lie where the stretches of a kernel begin.
  const std::int64_t stride = std::max<std::int64_t>(3, (widest / 2 + draw(widest / 2 + 1)) | 1);
  return {.first = draw(stride) * kPoisonPiece, .stride = stride * kPoisonPiece};
}

bool is_poison(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{kPoisonByte}; });
}

bool GuardedBuffer::is_intact(const std::byte* first) const {
  std::vector<std::byte> guard(static_cast<std::size_t>(guard_));
  memory_->copy_out(guard, first);
  return is_poison(guard);
}

void GuardedBuffer::poison() const {
  if (block_.bytes() > 0) memory_->fill(block_.data(), kPoisonByte, block_.bytes());
}

void GuardedBuffer::check_guards(const char* what, std::int64_t used) const {
  if (guard_ == 0 || block_.bytes() == 0) return;
  if (!is_intact(block_.data())) {
    throw Error(ErrorKind::kDevice, "wrote before the start of its {}", what);
  }
  if (!is_intact(data() + used)) {
    throw Error(ErrorKind::kDevice, "wrote past the end of its {}", what);
  }
}

}  // namespace nf4bench::device
