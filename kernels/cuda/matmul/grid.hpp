#pragma once

#include <cstddef>

namespace nf4bench::kernels::cuda {

// What a kernel is launched with.
struct Grid {
  unsigned blocks = 0;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;
  unsigned cluster = 1;  // blocks of a cluster; more than one from Hopper on
};

}  // namespace nf4bench::kernels::cuda
