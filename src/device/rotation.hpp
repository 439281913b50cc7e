#pragma once

#include <cstdint>

namespace nf4bench::device {

// A cold sample rotates through sets of buffers that together are so many times as large as the
// last-level cache: nothing useful of a set is left there when its turn comes again.
inline constexpr std::int64_t kCachesRotated = 5;

// Sets of `set_bytes` that a cold sample rotates through, memory permitting. At least one.
constexpr std::int64_t cold_sets(std::int64_t set_bytes, std::int64_t cache_bytes) {
  if (set_bytes <= 0) return 1;
  return (kCachesRotated * cache_bytes + set_bytes - 1) / set_bytes + 1;
}

}  // namespace nf4bench::device
