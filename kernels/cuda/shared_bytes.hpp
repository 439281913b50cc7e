#pragma once

#include "problem.hpp"

#include <cstddef>

namespace nf4bench::kernels::cuda {

// Shared memory that a block can have.
inline std::size_t shared_bytes_a_block(const DeviceFacts& device) {
  switch (device.compute_capability) {
    case 75:
      return std::size_t{64} << 10;
    case 80:
    case 87:
      return std::size_t{163} << 10;
    case 86:
    case 89:
    case 120:
    case 121:
      return std::size_t{99} << 10;
    default:
      return std::size_t{227} << 10;
  }
}

}  // namespace nf4bench::kernels::cuda
