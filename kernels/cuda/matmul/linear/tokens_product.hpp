#pragma once

// The integer kernels for 2 to 16 tokens, apart from that for one because they take long to
// compile: instantiated in a file of their own for each codebook.

#include "variant.hpp"

namespace nf4bench::kernels::cuda {

// Up to how many inputs four tokens are quantized by every block faster than by a kernel (H200).
inline constexpr std::int64_t kOwnImageInputs = 12288;

template <class Codebook>
struct TokensProduct {
  static const char* unsupported(const Problem& problem, const DeviceFacts& device);
  static std::size_t workspace_bytes(const Problem& problem);
  static void launch(const Job& job, const Launch& launch);
};

}  // namespace nf4bench::kernels::cuda
