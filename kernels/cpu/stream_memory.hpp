#pragma once

// Memory traffic without any decoding, past the caches: what the ceilings of the CPU are measured
// with, beside memcpy and memset. And the way out of the caches.

#include <cstddef>

namespace nf4bench::kernels::cpu {

// Copies `bytes` from `source` to `target`; both aligned to 16 bytes.
void copy_streaming(void* target, const void* source, std::size_t bytes);

// Sets `bytes` at `target`, aligned to 16 bytes, to `value`.
void fill_streaming(void* target, unsigned char value, std::size_t bytes);

// Whether evict() does anything on this processor.
bool can_evict();

// Writes `bytes` at `memory` back and out of the caches of all processors.
void evict(const void* memory, std::size_t bytes);

}  // namespace nf4bench::kernels::cpu
