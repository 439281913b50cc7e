#pragma once

// mma_linear for 2 to 16 tokens, apart from that for one because it takes long to compile.

#include "variant.hpp"

namespace nf4bench::kernels::cuda {

const char* mma_linear_tokens_unsupported(const Problem& problem, const DeviceFacts& device);
std::size_t mma_linear_tokens_workspace(const Problem& problem);
void launch_mma_linear_tokens(const Job& job, const Launch& launch);

}  // namespace nf4bench::kernels::cuda
