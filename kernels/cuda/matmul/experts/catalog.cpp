#include "catalog.hpp"

#include "cuda/device_tools.hpp"
#include "cuda/matmul/experts/activate.hpp"
#include "cuda/matmul/experts/variants.hpp"
#include "layer.hpp"

namespace nf4bench::kernels::cuda {
namespace {

std::vector<Variant> variants() {
  const std::vector<Variant>& own = own_grouped_products();
  std::vector<Variant> all = {experts_decode_all(), experts_loop()};
  all.insert(all.end(), own.rbegin(), own.rend());
  all.push_back(experts_fused());
  all.push_back(experts_grouped_resident());
  for (Variant& variant : all) variant = with_layers(variant, launch_activation);
  return all;
}

}  // namespace

const Catalog& experts() {
  static const Catalog catalog = {.variants = variants(),
                                  .stream_shapes = {},
                                  .flagship = "fused",
                                  .default_baseline = "grouped_any",
                                  .judge = launch_product_judge};
  return catalog;
}

}  // namespace nf4bench::kernels::cuda
