#pragma once

#include "io/byte_source.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace nf4bench::io {

// What the directory of a zip archive says of a member.
struct ZipEntry {
  std::string_view name;
  std::uint64_t flags = 0;
  std::uint64_t method = 0;
  std::uint64_t checksum = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;  // unpacked
  std::uint64_t begin = 0;  // of its own header in the file
};

// The sizes of 64 bits and the offset in the extra fields of a header. They replace those of its
// 32-bit fields that say so, all in this order.
struct Zip64Sizes {
  std::uint64_t& bytes;
  std::uint64_t& packed_bytes;
  std::uint64_t* begin = nullptr;  // a member's own header has none
};

// False when `extra` lacks a value that a field says is there.
bool read_zip64(std::string_view extra, const Zip64Sizes& sizes);

// Compares every member with `entries`, so that readers who go from member to member find what
// those find who believe the directory: name, flags, method, sizes and checksum, and nothing
// before, between and behind the members. `directory` is where the directory begins. Throws
// Error(kInput).
void check_zip_members(const ByteSource& source, std::vector<ZipEntry> entries,
                       std::uint64_t directory);

}  // namespace nf4bench::io
