#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace nf4bench {

// A file that appears whole or not at all. It is written under a temporary name in the same folder,
// and commit() renames it. Without commit() the destructor removes it. Throws Error(kOutput). A
// process that is killed leaves the temporary file behind; see remove_leftovers().
class AtomicFile {
 public:
  // Says once more, by throwing, that the path must not be replaced; see check_output().
  using Check = std::function<void()>;

  explicit AtomicFile(const std::filesystem::path& path, Check check = {});
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  // Flushes to disk, checks and renames over the final path.
  void commit();

 private:
  int give_name() const;  // 0, or why the finished file cannot be renamed
  void check_again() const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  Check check_;
  int descriptor_ = -1;
};

// Removes temporary files that killed processes left behind when they wrote `path`. Files of living
// processes are locked and stay. Never throws.
void remove_leftovers(const std::filesystem::path& path) noexcept;

// The file that a chain of links ends at, whether it exists or not: what a commit replaces.
std::filesystem::path behind_links(std::filesystem::path path);

// The folder that `path` lies in; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

// Whether a temporary file for `path` may be called `name`; remove_leftovers() removes it then.
bool is_temporary_name(const std::filesystem::path& path, std::string_view name);

// Writes `text` to `path` through an AtomicFile.
void write_file(const std::filesystem::path& path, std::string_view text,
                AtomicFile::Check check = {});

}  // namespace nf4bench
