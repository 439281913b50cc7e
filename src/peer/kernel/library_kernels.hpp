#pragma once

#include "peer/kernel/kernel_facts.hpp"

#include <string>
#include <vector>

namespace nf4bench::peer {

// Writes what nvcc said of the library at `path` behind it, where nothing that loads it looks: so
// that both stay together.
void add_log(const std::string& path, const std::string& log);

// What add_log() wrote; empty of any other file.
std::string log_of(const std::string& path);

// Of those kernels of such a library that may be the one for `problem`: all but those that are
// known to write another type. Nobody but its host code knows which one that launches, and how.
// `sass` is what disassembled() gave.
std::vector<KernelFacts> library_kernel_facts(const std::string& path,
                                              const kernels::Problem& problem,
                                              const std::string& sass);

}  // namespace nf4bench::peer
