// Fused; integer tensor cores, which take codebook values of two bytes as two operands.

#include "cuda/matmul/linear/byte_planes.cuh"
#include "cuda/matmul/linear/integer_product.cuh"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {

Variant matmul_mma_planes() {
  Variant variant = integer_variant<BytePlanes>();
  variant.name = "mma_planes";
  variant.summary = "fused, up to 16 tokens; integer tensor cores, codebook of two bytes from prmt";
  variant.traits.mirrors = "integers with weights as exact as 16 bits are";
  return variant;
}

}  // namespace nf4bench::kernels::cuda
