#include "catalog.hpp"

#include "cuda/dequantize/variants.hpp"
#include "cuda/device_tools.hpp"

namespace nf4bench::kernels::cuda {

const Catalog& dequantize() {
  static const Catalog catalog = {
      .variants = {branch_tree(), multi_kernel(), lut_constant(), lut_shared(), lut_shared_pair(),
                   lut_register(), select_tree(), lop3_prmt(), cache_hints(), warp_persistent(),
                   fused()},
      .stream_shapes = stream_shapes(),
      .flagship = "fused",
      .default_baseline = "multi_kernel",
      .judge = launch_compare};
  return catalog;
}

}  // namespace nf4bench::kernels::cuda
