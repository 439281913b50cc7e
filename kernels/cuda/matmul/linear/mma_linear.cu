// Fused; integer tensor cores, which take the codes themselves as one operand and what is left of
// the codebook beside a line as another.

#include "cuda/matmul/linear/integer_product.cuh"
#include "cuda/matmul/linear/line_and_residual.cuh"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {

Variant matmul_mma_linear() {
  Variant variant = integer_variant<LineAndResidual>();
  variant.name = "mma_linear";
  variant.summary = "fused, up to 4 tokens; integer tensor cores, a line and residuals from prmt";
  variant.traits.mirrors = "the fastest for few tokens";
  return variant;
}

}  // namespace nf4bench::kernels::cuda
