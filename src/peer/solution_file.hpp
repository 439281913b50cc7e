#pragma once

#include <string>

namespace nf4bench::peer {

// True when `path` ends in .json: a solution as SOL-ExecBench and FlashInfer-Bench have it.
bool is_solution_file(const std::string& path);

struct Solution {
  std::string file;        // of its entry point ("kernel.cu::run"), a peer itself
  std::string name;        // empty: it has none
  std::string definition;  // the name of the problem that it solves; empty: it names none
};

// All its files are written beside each other, in the cache of compiled files and by their content.
// Throws Error(kInput) when it is no solution, or when a file would lie elsewhere.
Solution unpacked_solution(const std::string& path);

}  // namespace nf4bench::peer
