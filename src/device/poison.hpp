#pragma once

#include <cstdint>
#include <random>

namespace nf4bench::device {

// Outputs are filled with this byte before a variant runs. No weight has such a value, and it is no
// NaN, so that an element left unwritten never passes for a decoded one.
inline constexpr unsigned char kPoisonByte = 0xeb;

// Where poison is laid in an output: in pieces of kPoisonPiece bytes, at `first` and every `stride`
// bytes from there, as far as the output goes. Both are multiples of kPoisonPiece.
inline constexpr std::int64_t kPoisonPiece = 32;
struct PoisonPattern {
  std::int64_t first = 0;
  std::int64_t stride = kPoisonPiece;  // as it stands: everywhere
};

// One piece in some 16 to 32 of an output of `bytes`, in more of a small one, drawn from `random`:
// so that no stretch of a kilobyte can be left as it is, and nobody knows where.
PoisonPattern strewn_poison(std::int64_t bytes, std::mt19937_64& random);

}  // namespace nf4bench::device
