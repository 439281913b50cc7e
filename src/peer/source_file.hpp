#pragma once

#include <string>

namespace nf4bench::peer {

// True when `path` ends in .cpp or .cu.
bool is_source_file(const std::string& path);

// The shared library that the compiler makes of `path`: c++ or what CXX names for .cpp, nvcc or
// what NVCC names for .cu. nf4bench_peer.h is found by itself. What was compiled before lies in
// nf4bench/peers in the user's cache (XDG_CACHE_HOME), by its content with all that it includes.
// Throws Error(kInput) with the compiler's first error.
std::string compiled_library(const std::string& path);

}  // namespace nf4bench::peer
