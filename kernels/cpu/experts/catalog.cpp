#include "catalog.hpp"

#include "cpu/experts/variants.hpp"

namespace nf4bench::kernels::cpu {

const Catalog& experts() {
  static const Catalog catalog = {
      .variants = {experts_reference(), experts_decode_all(), experts_loop(), experts_grouped(),
                   experts_grouped_resident()},
      .stream_shapes = {},
      .flagship = "grouped",
      .default_baseline = "decode_all"};
  return catalog;
}

}  // namespace nf4bench::kernels::cpu
