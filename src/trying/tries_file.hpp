#pragma once

#include "trying/attempt.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace nf4bench::trying {

// tries.jsonl beside the files that were tried: a line for each try, in the order in which they
// ended.

// Of the kernel at `file`; a path that ends in .jsonl is one itself.
std::filesystem::path tries_file_of(const std::string& file);

// Adds lines, each with its end, at the end of a file, whole, whoever else does so at the same
// time. Throws Error(kOutput).
void append(const std::filesystem::path& path, const std::string& lines);

// All of the kernel called `name`, "" for all kernels. Lines that are no tries are passed over, and
// `passed_over` counts them. No file is no tries.
struct Tries {
  std::vector<Attempt> attempts;
  std::size_t passed_over = 0;
};
Tries read_tries(const std::filesystem::path& path, const std::string& name);

// A try as SOL-ExecBench and FlashInfer-Bench keep it: a line of JSON, with its end, for each cell;
// one without axes where nothing ran. Their statuses are fewer: `log` has ours and the reason. An
// error that is not known is "NaN", and a speedup without a baseline 0, as they write them.
std::string trace_of(const Attempt& attempt);

// Checks the file that --trace names, where tries of `file` are added to lines of the same kind;
// any other file stays as it is. Throws Error(kUsage), Error(kOutput).
void check_trace(const std::string& trace, const std::string& file);

}  // namespace nf4bench::trying
