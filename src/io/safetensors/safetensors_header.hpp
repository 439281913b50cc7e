#pragma once

#include "io/byte_source.hpp"
#include "io/stored_tensors.hpp"

#include <cstdint>

namespace nf4bench::io {

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the reference reader's limit

// Reads the header of the safetensors file `source` and appends what it declares to `tensors`, as
// of file number `file`. Accepts only headers that describe the whole file: every byte after the
// header belongs to exactly one tensor, whose length agrees with its type and shape. Throws
// Error(kInput) for any other header.
void read_safetensors_header(const ByteSource& source, std::uint32_t file, StoredTensors& tensors);

}  // namespace nf4bench::io
