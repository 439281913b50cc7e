#pragma once

#include "io/byte_source.hpp"
#include "io/name_table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::io {

inline constexpr std::size_t kMaxShards = 10'000;
inline constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{256} << 20;

// Which shard each tensor of a sharded checkpoint is in.
struct ShardIndex {
  std::vector<std::string> shards;      // file names, none with a path, in order of appearance
  NameTable tensors;                    // in the file's order
  std::vector<std::uint32_t> shard_of;  // of each tensor, an index into shards
};

// Reads a model.safetensors.index.json. Shards are files beside it: a name with any path in it is
// refused. Throws Error(kInput).
ShardIndex read_shard_index(const ByteSource& source);

}  // namespace nf4bench::io
