#include "catalog.hpp"

#include "cpu/matmul/variants.hpp"

namespace nf4bench::kernels::cpu {

const Catalog& matmul() {
  static const Catalog catalog = {
      .variants = {matmul_reference(), matmul_decode_blas(), matmul_simd()},
      .stream_shapes = {},
      .flagship = "simd",
      .default_baseline = "decode_blas"};
  return catalog;
}

// They take weights either way.
const Catalog& backward() {
  return matmul();
}

}  // namespace nf4bench::kernels::cpu
