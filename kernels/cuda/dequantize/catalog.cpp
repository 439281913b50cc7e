#include "catalog.hpp"

#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels {

const std::vector<Variant>& cuda_variants() {
  static const std::vector<Variant> variants = {
      cuda::branch_tree(),     cuda::multi_kernel(),    cuda::lut_constant(), cuda::lut_shared(),
      cuda::lut_shared_pair(), cuda::lut_register(),    cuda::select_tree(),  cuda::lop3_prmt(),
      cuda::cache_hints(),     cuda::warp_persistent(), cuda::fused(),
  };
  return variants;
}

const std::vector<Variant>& cuda_stream_shapes() {
  static const std::vector<Variant> shapes = cuda::stream_shapes();
  return shapes;
}

}  // namespace nf4bench::kernels
