#pragma once

// The integer kernels for 2 to 16 tokens, apart from that for one because they take long to
// compile: instantiated in a file of their own for each codebook.

#include "variant.hpp"

namespace nf4bench::kernels::cuda {

template <class Codebook>
struct TokensProduct {
  static const char* unsupported(const Problem& problem, const DeviceFacts& device);
  static std::size_t workspace_bytes(const Problem& problem);
  static void launch(const Job& job, const Launch& launch);
};

}  // namespace nf4bench::kernels::cuda
