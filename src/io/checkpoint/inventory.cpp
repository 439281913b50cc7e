#include "io/checkpoint/inventory.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/checkpoint/npy_folder.hpp"
#include "io/safetensors/safetensors_header.hpp"
#include "io/safetensors/shard_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace nf4bench::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexSuffix = ".safetensors.index.json";
constexpr std::string_view kShardSuffix = ".safetensors";

// The files of a folder that the readers care about, each list sorted.
struct FolderListing {
  std::vector<fs::path> indexes;
  std::vector<fs::path> shards;
  std::vector<fs::path> arrays;  // .npy, and the JSON texts that stand for quant states
  std::vector<fs::path> archives;
  std::vector<fs::path> pickles;  // that torch.save wrote
};

bool is_pytorch_name(std::string_view name) {
  return name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth");
}

FolderListing list_folder(const fs::path& folder) {
  FolderListing listing;
  std::error_code error;
  fs::directory_iterator end;
  for (fs::directory_iterator it(folder, error); !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().native();
    if (name.ends_with(kIndexSuffix)) listing.indexes.push_back(it->path());
    if (name.ends_with(kShardSuffix)) listing.shards.push_back(it->path());
    if (is_npy_folder_file(name)) listing.arrays.push_back(it->path());
    if (name.ends_with(kNpzSuffix)) listing.archives.push_back(it->path());
    if (is_pytorch_name(name)) listing.pickles.push_back(it->path());
  }
  if (error) {
    throw input_error(escaped(folder.native()),
                      fmt::format("the folder cannot be listed: {}", error.message()));
  }
  std::ranges::sort(listing.indexes);
  std::ranges::sort(listing.shards);
  std::ranges::sort(listing.arrays);
  std::ranges::sort(listing.archives);
  std::ranges::sort(listing.pickles);
  return listing;
}

// Appends the shard at `path` with all its tensors.
void add_shard(const fs::path& path, Inventory& inventory) {
  if (inventory.files.size() >= kMaxShards) {
    throw input_error(escaped(path.parent_path().native()), "shards",
                      fmt::format("more than {}", kMaxShards), "at most that many");
  }
  const ByteSource source = ByteSource::open(path);
  const auto file = static_cast<std::uint32_t>(inventory.files.size());
  inventory.files.push_back({.path = path, .identity = source.identity()});
  read_safetensors_header(source, file, inventory.tensors);
}

// Refuses a name that occurs in two shards: loaders differ in which of the two they take.
void index_names(Inventory& inventory) {
  const auto twin = inventory.tensors.index();
  if (!twin) return;
  const StoredTensor tensor = inventory.tensors[*twin];
  std::size_t first = 0;
  while (inventory.tensors[first].name != tensor.name) ++first;
  throw input_error(
      escaped(inventory.files[tensor.file].path.native()),
      fmt::format("tensor {} is also in {}", in_quotes(tensor.name),
                  escaped(inventory.files[inventory.tensors[first].file].path.native())));
}

Inventory open_shards(const std::vector<fs::path>& shards) {
  Inventory inventory;
  for (const fs::path& shard : shards) add_shard(shard, inventory);
  index_names(inventory);
  return inventory;
}

Inventory open_index(const fs::path& path) {
  const ShardIndex index = read_shard_index(ByteSource::open(path));
  Inventory inventory;
  inventory.index = path;
  inventory.folder = folder_of(path);
  for (const std::string& shard : index.shards) {
    try {
      add_shard(path.parent_path() / shard, inventory);
    } catch (const Error& error) {
      throw input_error(escaped(path.native()),
                        fmt::format("its shard {}: {}", in_quotes(shard), error.what()));
    }
  }
  index_names(inventory);
  for (std::size_t i = 0; i < index.tensors.size(); ++i) {
    const auto number = inventory.tensors.find(index.tensors[i]);
    if (number && inventory.tensors[*number].file == index.shard_of[i]) continue;
    throw input_error(
        escaped(path.native()),
        fmt::format("tensor {} is not in the shard {} that the index names",
                    in_quotes(index.tensors[i]), in_quotes(index.shards[index.shard_of[i]])));
  }
  return inventory;
}

Inventory open_listed(const fs::path& folder) {
  const FolderListing listing = list_folder(folder);
  if (listing.indexes.size() == 1) return open_index(listing.indexes.front());
  if (listing.indexes.size() > 1) {
    throw input_error(escaped(folder.native()), "indexes",
                      fmt::format("{}, the first is {}", listing.indexes.size(),
                                  in_quotes(listing.indexes.front().filename().native())),
                      "one; name the index itself");
  }
  if (!listing.shards.empty()) return open_shards(listing.shards);
  if (!listing.arrays.empty()) return open_npy_folder(folder, listing.arrays);
  if (!listing.archives.empty()) {
    throw input_error(
        escaped(folder.native()), "folder",
        fmt::format(".npz archives only ({}, the first is {})", listing.archives.size(),
                    in_quotes(listing.archives.front().filename().native())),
        "a checkpoint; name the archive itself");
  }
  if (!listing.pickles.empty()) {
    const std::string first = listing.pickles.front().filename().native();
    throw input_error(
        escaped(folder.native()), "folder",
        fmt::format("files of torch.save only ({}, the first is {})", listing.pickles.size(),
                    in_quotes(first)),
        fmt::format("a checkpoint of .safetensors files; \"scripts/dump_nf4.py {} -o FOLDER\" "
                    "writes what is NF4 in one as a folder to give instead",
                    escaped((folder / first).native())));
  }
  throw input_error(escaped(folder.native()), "folder", "neither .safetensors nor .npy files",
                    "a checkpoint");
}

Inventory open_folder(const fs::path& folder) {
  Inventory inventory = open_listed(folder);
  inventory.folder = folder;
  return inventory;
}

}  // namespace

bool is_tensor_file_name(std::string_view name) {
  return name.ends_with(kIndexSuffix) || name.ends_with(kShardSuffix) ||
         name.ends_with(kNpzSuffix) || is_npy_folder_file(name);
}

Inventory take_inventory(const fs::path& path) {
  std::error_code error;
  if (path.native().find('\0') == std::string::npos && fs::is_directory(path, error)) {
    return open_folder(path);
  }
  if (path.native().ends_with(kIndexSuffix)) return open_index(path);
  if (path.native().ends_with(kNpzSuffix)) return open_npz({.path = path});
  return open_shards({path});
}

Inventory take_inventory(const std::string& name, std::vector<std::byte> bytes) {
  InputFile file = {.path = name, .memory = std::move(bytes), .is_memory = true};
  if (name.ends_with(kNpzSuffix)) return open_npz(std::move(file));
  Inventory inventory;
  inventory.files.push_back(std::move(file));
  const ByteSource source = open_again(inventory.files.front());
  read_safetensors_header(source, 0, inventory.tensors);
  index_names(inventory);
  return inventory;
}

ByteSource open_bytes(const InputFile& file) {
  return file.is_memory ? ByteSource::in_memory(file.path.native(), file.memory)
                        : ByteSource::open(file.path);
}

ByteSource open_again(const InputFile& file) {
  ByteSource source = open_bytes(file);
  if (!file.is_memory && source.identity() != file.identity) {
    throw input_error(source.name(), "the file changed since its header was read; try again");
  }
  return file.archive ? file.archive->range() : std::move(source);
}

const ByteSource& OpenFiles::operator[](std::uint32_t file) {
  for (const auto& [number, source] : open_) {
    if (number == file) return source;
  }
  ByteSource source = open_again(inventory_.files[file]);
  if (open_.size() < kMaxOpen) {
    open_.emplace_back(file, std::move(source));
    return open_.back().second;
  }
  auto& slot = open_[oldest_];
  oldest_ = (oldest_ + 1) % kMaxOpen;
  slot.first = file;
  slot.second = std::move(source);
  return slot.second;
}

}  // namespace nf4bench::io
