#pragma once

#include <cstdint>
#include <string>

namespace nf4bench::test {

// Sizes of a checkpoint whose nested NF4 weights all have one shape, ROWS x COLUMNS.
struct CheckpointSpec {
  int weights = 1;
  std::int64_t rows = 8;
  std::int64_t columns = 8;
  int shards = 1;
};

// Writes it into `folder` in shards with an index, or as one model.safetensors. States and maps are
// written; packed weights, scales and codes come last in each shard and are holes, so that tens of
// gigabytes take no room on the disk. Returns how many bytes were really written.
std::int64_t write_sparse_checkpoint(const std::string& folder, const CheckpointSpec& spec);

}  // namespace nf4bench::test
