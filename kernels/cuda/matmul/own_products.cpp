#include "cuda/matmul/own_products.hpp"

#include "cuda/matmul/costs.hpp"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
std::span<const OwnProduct> own_products() {
  static const OwnProduct products[] = {
      {matmul_mma_linear(), mma_linear_ns}, {matmul_wgmma_decode(), wgmma_decode_ns},
      {matmul_mma_ring(), mma_ring_ns},     {matmul_gemv_shuffle(), gemv_shuffle_ns},
      {matmul_mma_table(), mma_table_ns},
  };
  return products;
}

}  // namespace nf4bench::kernels::cuda
