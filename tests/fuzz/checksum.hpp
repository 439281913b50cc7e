#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nf4bench::fuzz {

// The CRC-32 of zip, a bit at a time.
inline std::uint32_t checksum(std::span<const std::byte> bytes) {
  std::uint32_t crc = UINT32_MAX;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

}  // namespace nf4bench::fuzz
