// mma_planes for 2 to 16 tokens.

#include "cuda/matmul/linear/byte_planes.cuh"
#include "cuda/matmul/linear/tokens_product.cuh"

namespace nf4bench::kernels::cuda {

template struct TokensProduct<BytePlanes>;

}  // namespace nf4bench::kernels::cuda
