#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::peer {

using FileTime = std::filesystem::file_time_type;

// Libraries that were compiled, in a folder that all processes of a user share. A library is found
// again by what was asked of the compiler while all files that it read then are what they were.
// What was not used for long is thrown away.
class CompileCache {
 public:
  // nf4bench/peers in the user's cache: XDG_CACHE_HOME, else .cache in HOME. Throws Error(kInput)
  // when it cannot be made.
  CompileCache();

  const std::filesystem::path& folder() const { return folder_; }

  // What `question`, all words for a compiler, led to.
  std::optional<std::filesystem::path> find(const std::string& question) const;

  // A name that no other process has, for a compiler to write to.
  std::filesystem::path temporary() const;

  // Takes `temporary` in. `files` are what the compiler, started at `since`, has read: where one of
  // them is younger, nobody can say what it was, and the library is not found again.
  std::filesystem::path keep(const std::string& question, const std::filesystem::path& temporary,
                             const std::vector<std::string>& files, FileTime since) const;

 private:
  void prune() const;

  std::filesystem::path folder_;
};

}  // namespace nf4bench::peer
