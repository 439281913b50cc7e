#include "cuda/prediction.hpp"

#include "cuda/matmul/choice.hpp"

namespace nf4bench::kernels::cuda {

Prediction predict(const Problem& problem, const DeviceFacts& device) {
  Prediction prediction;
  prediction.roof = roof_of(problem, device);
  if (problem.tokens == 0) {
    prediction.kernel = "fused";
    prediction.ns = dequantize_ns(problem, device);
    return prediction;
  }
  const ProductChoice choice = choose_product(problem, device);
  const bool is_own = choice.beats_blas();
  prediction.kernel =
      is_own ? product_models()[static_cast<std::size_t>(choice.own)].name : "decode_cublas";
  prediction.ns = choice.ns();
  prediction.resident_ns = resident_blas_ns(problem, device);
  return prediction;
}

}  // namespace nf4bench::kernels::cuda
