#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nf4bench::io {

// The little-endian number in the `width` (at most 8) bytes from `begin` on; they must be there.
inline std::uint64_t number_at(std::string_view bytes, std::size_t begin, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[begin + i])} << (8 * i);
  }
  return value;
}

}  // namespace nf4bench::io
