#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nf4bench::cli {

// The .json files at or below `input`, in alphabetic order; `input` itself when it is no folder.
// Throws Error(kInput) for a folder that cannot be listed.
std::vector<std::string> json_files(const std::string& input);

// Names files that are skipped on stderr: the first ones, and how many more there are.
class SkippedFiles {
 public:
  void add(const std::string& why);
  void finish() const;

 private:
  std::size_t count_ = 0;
};

}  // namespace nf4bench::cli
