#include "device/poison.hpp"

#include <algorithm>

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

}  // namespace nf4bench::device
