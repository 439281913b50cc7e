#pragma once

// Every CUDA variant of `matmul`; catalog.cpp orders them. `input` of a job is x[tokens, inputs],
// `output` is y[tokens, outputs] = x W^T, both of the output type.

#include "variant.hpp"

namespace nf4bench::kernels::cuda {

Variant matmul_cublas_resident();
Variant matmul_gemv_shuffle();
Variant matmul_chain_cublas();
Variant matmul_decode_cublas();
Variant matmul_mma_ring();
Variant matmul_mma_table();
Variant matmul_mma_linear();
Variant matmul_wgmma_decode();
Variant matmul_fused();

}  // namespace nf4bench::kernels::cuda
