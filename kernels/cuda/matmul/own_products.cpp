#include "cuda/matmul/own_products.hpp"

#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {

std::span<const Variant> own_products() {
  static const Variant products[] = {
      matmul_mma_linear(),   matmul_wgmma_decode(), matmul_mma_ring(),
      matmul_gemv_shuffle(), matmul_mma_table(),
  };
  return products;
}

}  // namespace nf4bench::kernels::cuda
