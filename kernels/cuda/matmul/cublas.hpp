#pragma once

// cuBLAS, loaded when it is first asked for, so that nothing links against it. A library of major
// version 13 or 12 is looked for where the system looks for libraries, then in the toolkit's own
// folder.

#include "variant.hpp"

#include <cstddef>

namespace nf4bench::kernels::cuda {

// Why cuBLAS cannot compute `problem`; null when it can. Loads it.
const char* cublas_unsupported(const Problem& problem);

// What it is given to work with, so that its calls can be recorded into graphs: what its
// documentation asks for on Hopper.
inline constexpr std::size_t kCublasWorkspace = std::size_t{32} << 20;

// Enqueues y = x W^T with 16-bit or float32 weights of the output type at `weights`, W[outputs,
// inputs] or as the job says transposed, and sums in float32. `workspace` has kCublasWorkspace
// bytes. The first call on a device allocates, so it cannot be recorded. A call that fails leaves
// the output as it was.
void multiply_by_cublas(const Job& job, const void* weights, void* workspace, CUstream_st* stream);

}  // namespace nf4bench::kernels::cuda
