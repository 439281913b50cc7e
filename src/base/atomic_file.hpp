#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace nf4bench {

// A file that appears whole or not at all. It is written under a temporary name in the same folder,
// and commit() renames it. Without commit() the destructor removes it. Throws Error(kOutput). A
// process that is killed leaves the temporary file behind; see remove_leftovers().
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  // Flushes to disk and renames over the final path.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

// Removes temporary files that killed processes left behind when they wrote `path`. Files of living
// processes are locked and stay. Never throws.
void remove_leftovers(const std::filesystem::path& path) noexcept;

// The file that a chain of links ends at, whether it exists or not: what a commit replaces.
std::filesystem::path behind_links(std::filesystem::path path);

// Writes `text` to `path` through an AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace nf4bench
