#pragma once

#include <string>

namespace nf4bench::peer {

// True when `path` ends in .json: a solution as SOL-ExecBench and FlashInfer-Bench have it.
bool is_solution_file(const std::string& path);

// The file of the solution's entry point ("kernel.cu::run"), a peer itself. All its files are
// written beside each other, in the cache of compiled files and by their content. Throws
// Error(kInput) when it is no solution, or when a file would lie elsewhere.
std::string unpacked_solution(const std::string& path);

}  // namespace nf4bench::peer
