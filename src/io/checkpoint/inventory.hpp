#pragma once

#include "io/byte_source.hpp"
#include "io/checkpoint/raw_dump.hpp"
#include "io/npz/npz_archive.hpp"
#include "io/stored_tensors.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench::io {

// A file of the input. It is opened again when its data are read.
struct InputFile {
  std::filesystem::path path = {};
  FileIdentity identity = {};          // when its header was read
  std::vector<std::byte> memory = {};  // instead of a file at path, when is_memory
  bool is_memory = false;
  std::unique_ptr<NpzArchive> archive = {};  // of a .npz file, whose members hold the tensors
};

// Everything that an input holds, before any of it has been understood.
struct Inventory {
  std::vector<InputFile> files;
  std::filesystem::path index = {};   // of the shards, when one was read
  std::filesystem::path folder = {};  // whose files were read, when no single file was named
  StoredTensors tensors;              // indexed
  std::map<std::size_t, std::string> unreadable;  // tensors whose own file is damaged, and how
};

// True for the names of files that a folder is searched for: shards, indexes, arrays, archives.
bool is_tensor_file_name(std::string_view name);

// Reads all headers of what `path` leads to: a .safetensors file, an index of shards, a folder with
// either, a folder of .npy files, a .npz archive. Throws Error(kInput).
Inventory take_inventory(const std::filesystem::path& path);

// The files of `dumps`. What they do not say becomes a file in memory, so that a dump is judged as
// any other input. Throws Error(kUsage) when two have one name.
Inventory take_inventory(const std::vector<RawDump>& dumps);

// The same for the bytes of one .safetensors or .npz file, called `name` in messages.
Inventory take_inventory(const std::string& name, std::vector<std::byte> bytes);

// The bytes of `file` as they are now, in memory or at its path.
ByteSource open_bytes(const InputFile& file);

// Opens `file` again and makes sure that it is still the file whose header was read. For an
// archive, this is the range of its members. Borrows from `file`.
ByteSource open_again(const InputFile& file);

// Keeps the last few used files of an inventory open. Not all of them, because a checkpoint may
// have more shards than a process may have open files.
class OpenFiles {
 public:
  explicit OpenFiles(const Inventory& inventory) : inventory_(inventory) {}

  // File number `file`, opened if need be; valid until the next call.
  const ByteSource& operator[](std::uint32_t file);

 private:
  static constexpr std::size_t kMaxOpen = 8;

  const Inventory& inventory_;
  std::vector<std::pair<std::uint32_t, ByteSource>> open_;
  std::size_t oldest_ = 0;
};

}  // namespace nf4bench::io
