#pragma once

// What this program should take on a card that nobody has measured. Plain host code.

#include "cuda/matmul/costs.hpp"

namespace nf4bench::kernels::cuda {

struct Prediction {
  const char* kernel = "";  // that `fused` takes
  double ns = 0.0;
  double resident_ns = 0.0;  // of a product with a weight in 16 bits, by a BLAS
  Roof roof;
};

// Of dequantization where there are no tokens. There is a cuBLAS.
Prediction predict(const Problem& problem, const DeviceFacts& device);

}  // namespace nf4bench::kernels::cuda
