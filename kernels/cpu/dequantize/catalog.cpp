#include "catalog.hpp"

#include "cpu/dequantize/variants.hpp"

namespace nf4bench::kernels::cpu {

const Catalog& dequantize() {
  static const Catalog catalog = {.variants = {reference(), multi_pass(), lut(), simd()},
                                  .stream_shapes = {},
                                  .flagship = "simd",
                                  .default_baseline = "multi_pass"};
  return catalog;
}

}  // namespace nf4bench::kernels::cpu
