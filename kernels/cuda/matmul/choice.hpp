#pragma once

// Which kernel a product gets. Plain host code, which every build has.

#include "problem.hpp"

#include <limits>
#include <span>

namespace nf4bench::kernels::cuda {

// What is known of a kernel of own_products.hpp without its code.
struct ProductModel {
  const char* name;
  // Null when it can do `problem` there, else why it cannot.
  const char* (*unsupported)(const Problem& problem, const DeviceFacts& device);
  // What it takes, of problems that it can do; costs.hpp says how well that is known.
  double (*cost_ns)(const Problem& problem, const DeviceFacts& device);
};

// In the order of own_products().
std::span<const ProductModel> product_models();

struct ProductChoice {
  int own =
      -1;  // the fastest, the first of several, by its place in product_models(); -1: none can
  double own_ns = std::numeric_limits<double>::infinity();
  double blas_ns = 0.0;  // of decoding the weight into memory and multiplying by a BLAS

  double lead = 1.0;  // of a BLAS, that is needed to prefer it

  bool beats_blas() const { return own_ns <= lead * blas_ns; }
  double ns() const { return beats_blas() ? own_ns : blas_ns; }
};

ProductChoice choose_product(const Problem& problem, const DeviceFacts& device);

// The most tokens for which the choice beats a BLAS, 0: none; those of `problem` do not matter.
std::int64_t most_own_tokens(const Problem& problem, const DeviceFacts& device);

}  // namespace nf4bench::kernels::cuda
