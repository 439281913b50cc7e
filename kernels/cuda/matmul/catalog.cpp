#include "catalog.hpp"

#include "cuda/device_tools.hpp"
#include "cuda/matmul/own_products.hpp"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

std::vector<Variant> variants() {
  std::vector<Variant> all = {matmul_chain_cublas(), matmul_decode_cublas()};
  for (const Variant& product : own_products()) all.push_back(product);
  all.push_back(matmul_fused());
  all.push_back(matmul_cublas_resident());
  return all;
}

Variant chain_of_gradients() {
  Variant variant = matmul_chain_cublas();
  variant.traits.mirrors = "the gradients of bitsandbytes and Unsloth";
  return variant;
}

}  // namespace

const Catalog& matmul() {
  static const Catalog catalog = {.variants = variants(),
                                  .stream_shapes = {},
                                  .flagship = "fused",
                                  .default_baseline = "chain_cublas",
                                  .judge = launch_product_judge};
  return catalog;
}

const Catalog& backward() {
  static const Catalog catalog = {
      .variants = {chain_of_gradients(), matmul_decode_cublas(), matmul_wgmma_decode(),
                   matmul_mma_ring(), matmul_fused(), matmul_cublas_resident()},
      .stream_shapes = {},
      .flagship = "fused",
      .default_baseline = "chain_cublas",
      .judge = launch_product_judge};
  return catalog;
}

}  // namespace nf4bench::kernels::cuda
