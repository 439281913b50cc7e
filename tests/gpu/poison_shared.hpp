#pragma once

#include <cstdint>

struct CUstream_st;

namespace nf4bench {

// Fills all shared memory that a block can have with `word`, on every multiprocessor.
void poison_shared_memory(std::uint32_t word, CUstream_st* stream);

}  // namespace nf4bench
