#pragma once

#include "base/file_lock.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace nf4bench::io {

// Which file a path led to. Shows whether the path, when it is opened again, leads to the same
// bytes.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

// Takes bytes that follow those of the call before.
using ByteSink = std::function<void(std::span<const std::byte>)>;

// Untrusted bytes read by range: a regular file, memory, or the unpacked members of an archive.
// Nothing is mapped into memory, so a file that shrinks while it is read causes an error and not a
// signal. All errors are Error(kInput).
class ByteSource {
 public:
  // Opens a regular file. Never blocks, whatever the path leads to.
  static ByteSource open(const std::filesystem::path& path);

  // Borrows `bytes`; `name` stands in messages for a path.
  static ByteSource in_memory(std::string_view name, std::span<const std::byte> bytes);

  // Fills a span with the bytes from an offset on; both have been checked against the range.
  using Reader = std::function<void(std::uint64_t offset, std::span<std::byte> out)>;

  // A range of `bytes` bytes that `reader` produces; `name` stands in messages for a path.
  static ByteSource of_range(std::string name, std::uint64_t bytes, Reader reader);

  // The path, escaped, as messages show it.
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return identity_.bytes; }
  const FileIdentity& identity() const { return identity_; }

  // Fills `out` from `offset` on; fewer bytes than that is an error.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

  // The `count` bytes from `offset` on, as text. The range is checked before memory is taken.
  std::string read_text(std::uint64_t offset, std::uint64_t count) const;

 private:
  ByteSource() = default;

  std::string name_;
  FileIdentity identity_;
  std::span<const std::byte> memory_;
  Reader reader_;
  Descriptor descriptor_;
};

// A part of a source.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

// Hands the bytes of `range` to `sink`, in pieces of at most `most` bytes.
void read_in_pieces(const ByteSource& source, const ByteRange& range, const ByteSink& sink,
                    std::uint64_t most = std::uint64_t{16} << 20);

// The little-endian number in the `width` (at most 8) bytes from `begin` on; they must be there.
inline std::uint64_t number_at(std::string_view bytes, std::size_t begin, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[begin + i])} << (8 * i);
  }
  return value;
}

// What kind of file it is instead of a safetensors file, judged by its first bytes: "a Git LFS
// pointer (run git lfs pull)", "a gzip archive", ...; empty when nothing is recognised.
std::string_view look_alike(std::string_view first_bytes);

}  // namespace nf4bench::io
