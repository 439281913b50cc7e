#pragma once

#include <filesystem>
#include <string>

namespace nf4bench {

// A folder that nobody else reads, removed at the end with all it holds.
class TemporaryFolder {
 public:
  // "nf4bench-`word`-" and something that no other has. Throws Error(kOutput).
  explicit TemporaryFolder(const std::string& word);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace nf4bench
