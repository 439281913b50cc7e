#pragma once

#include "io/byte_source.hpp"
#include "io/stored_tensors.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace nf4bench::io {

inline constexpr std::uint64_t kMaxNpyHeaderBytes = 10'000;  // numpy's own default limit
inline constexpr std::uint64_t kMaxNpyStartBytes = 12 + kMaxNpyHeaderBytes;  // magic, length, dict

// What the header of a .npy file says, checked against the file's length.
struct NpyHeader {
  ElementType type = ElementType::kU8;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_begin = 0;
  std::uint64_t data_bytes = 0;
};

// Reads the header of the .npy file `source`, versions 1.0 to 3.0. Accepts little-endian arrays of
// plain numbers that fill the file to its last byte. They must be in C order, unless only one
// dimension is longer than 1. V2 and <u2 are taken for bfloat16, because numpy has no name for it.
// Throws Error(kInput) for everything else.
NpyHeader read_npy_header(const ByteSource& source);

// The same from the first bytes of a file of `file_bytes`: kMaxNpyStartBytes of them, or all that
// there are. `name` stands in messages for the file.
NpyHeader parse_npy_header(std::string_view name, std::string_view start, std::uint64_t file_bytes);

}  // namespace nf4bench::io
