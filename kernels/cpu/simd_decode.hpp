#pragma once

#include <cstdint>

#include "job_parts.hpp"
#include "variant.hpp"

namespace nf4bench::cpu {

// How outputs reach memory.
enum class Stores : std::uint8_t {
  kCached,     // through the caches, where a next step may find them
  kStreaming,  // around the caches: no line is read only to be overwritten
};

// Decodes whole blocks, the last one possibly short, with the best instruction set of this machine.
// kStreaming wants job.output aligned to 64 bytes.
void decode_blocks(const Job& job, Range blocks, Stores stores);

}  // namespace nf4bench::cpu
