#include "catalog.hpp"

#include "cuda/device_tools.hpp"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {

const Catalog& matmul() {
  static const Catalog catalog = {
      .variants = {matmul_chain_cublas(), matmul_fused_cublas(), matmul_gemv_shuffle(),
                   matmul_mma_table(), matmul_mma_planes(), matmul_mma_linear(),
                   matmul_wgmma_decode(), matmul_fused(), matmul_cublas_resident()},
      .stream_shapes = {},
      .flagship = "fused",
      .default_baseline = "chain_cublas",
      .judge = launch_product_judge};
  return catalog;
}

}  // namespace nf4bench::kernels::cuda
