#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace nf4bench {

// A file that appears whole or not at all: written under a temporary name in the same folder and
// renamed by commit(). Without commit() the destructor removes it. Throws Error(kOutput).
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

// Writes `text` to `path` through an AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace nf4bench
