// The catalogues of a build without CUDA: there is nothing in them.

#include "catalog.hpp"

namespace nf4bench::kernels::cuda {

const Catalog& dequantize() {
  static const Catalog none;
  return none;
}

const Catalog& matmul() {
  return dequantize();
}

const Catalog& experts() {
  return dequantize();
}

const Catalog& backward() {
  return dequantize();
}

}  // namespace nf4bench::kernels::cuda
