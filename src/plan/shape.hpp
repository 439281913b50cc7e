#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::plan {

// Shapes and blocksizes as people write them. Throw Error(kUsage) naming the option that has them.

// "4096x14336", "100", "8x64x64": positive integers whose product fits 63 bits.
std::vector<std::int64_t> parse_shape(const std::string& word, const char* option = "--shape");

// A power of two from 32 to 4096.
int check_blocksize(int blocksize, const char* option = "--blocksize");

}  // namespace nf4bench::plan
