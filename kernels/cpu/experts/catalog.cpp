#include "catalog.hpp"

#include "cpu/experts/variants.hpp"

namespace nf4bench::kernels::cpu {

const Catalog& experts() {
  static const Catalog catalog = {.variants = {experts_reference(), experts_grouped()},
                                  .stream_shapes = {},
                                  .flagship = "grouped",
                                  .default_baseline = "reference"};
  return catalog;
}

}  // namespace nf4bench::kernels::cpu
