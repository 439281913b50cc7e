#pragma once

#include <cstdint>
#include <optional>

namespace nf4bench::peer {

// What a block of a kernel takes of a multiprocessor.
struct BlockNeeds {
  int threads = 0;
  int registers = 0;              // of a thread
  std::int64_t shared_bytes = 0;  // static and dynamic
};

// Warps that a multiprocessor holds at once of those that it has room for, from 0 (not even one
// block fits) to 1. As the driver counts it, but without a context; none for GPUs that are not
// known.
std::optional<double> occupancy(int compute_capability, const BlockNeeds& block);

}  // namespace nf4bench::peer
