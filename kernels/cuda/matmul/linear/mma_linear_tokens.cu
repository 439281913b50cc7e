// mma_linear for 2 to 16 tokens.

#include "cuda/matmul/linear/line_and_residual.cuh"
#include "cuda/matmul/linear/tokens_product.cuh"

namespace nf4bench::kernels::cuda {

template struct TokensProduct<LineAndResidual>;

}  // namespace nf4bench::kernels::cuda
