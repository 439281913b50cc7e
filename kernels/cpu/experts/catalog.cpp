#include "catalog.hpp"

#include "cpu/experts/variants.hpp"
#include "layer.hpp"

namespace nf4bench::kernels::cpu {
namespace {

std::vector<Variant> variants() {
  std::vector<Variant> all = {experts_reference(), experts_decode_all(), experts_loop(),
                              experts_grouped(), experts_grouped_resident()};
  for (Variant& variant : all) variant = with_layers(variant, activate_rows);
  return all;
}

}  // namespace

const Catalog& experts() {
  static const Catalog catalog = {.variants = variants(),
                                  .stream_shapes = {},
                                  .flagship = "grouped",
                                  .default_baseline = "decode_all"};
  return catalog;
}

}  // namespace nf4bench::kernels::cpu
