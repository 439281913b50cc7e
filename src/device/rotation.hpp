#pragma once

#include "record/device_info.hpp"

#include <cstdint>

namespace nf4bench::device {

// What a rotation is made of when nobody chooses, in last-level caches. On a GPU times stand still
// from there on (docs/method.md); caches of CPUs are larger, their memory is not.
constexpr int default_rotation(record::DeviceKind kind) {
  return kind == record::DeviceKind::kCuda ? 20 : 5;
}

// Sets of `set_bytes` that a cold sample rotates through, memory permitting, when `cold_bytes` are
// to be touched before a set comes round again. At least one.
constexpr std::int64_t cold_sets(std::int64_t set_bytes, std::int64_t cold_bytes) {
  if (set_bytes <= 0) return 1;
  return (cold_bytes + set_bytes - 1) / set_bytes + 1;
}

}  // namespace nf4bench::device
