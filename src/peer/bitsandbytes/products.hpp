#pragma once

#include "peer/bitsandbytes.hpp"
#include "peer/cuda_tools.hpp"
#include "variant.hpp"

#include <vector>

namespace nf4bench::peer {

// Names of variants; borrowed.
struct ProductNames {
  const char* chosen = "";
  const char* gemm = "";
  const char* gemv = "";
  const char* chain = "";
};

// Matrix products of bitsandbytes on a CUDA device. `gemm`: its kernel for any number of tokens.
// `gemv`: the one for a single token, behind the launches that decode nested scales, as Unsloth
// calls it. `chain`: its three launches that decode the weight, and cuBLAS. `chosen`: the one of
// these that its Python code takes; where the build has no `gemm`, as that of 0.49 does. Functions
// that the build lacks are a reason of the variants that need them.
std::vector<kernels::Variant> bitsandbytes_products(const BitsandbytesLibrary& library,
                                                    const CudaTools& tools,
                                                    const ProductNames& names);

}  // namespace nf4bench::peer
