#pragma once

#include "io/byte_source.hpp"
#include "io/checkpoint/inventory.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace nf4bench::io {

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
