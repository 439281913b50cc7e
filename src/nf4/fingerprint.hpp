#pragma once

#include "nf4/tensor.hpp"

#include <string>

namespace nf4bench::nf4 {

// SHA-256 over the little-endian bytes of packed weight, absmax (or its codes), nested absmax,
// nested map and nested offset, in that order. Two tensors with the same fingerprint decode to the
// same values.
std::string fingerprint(const Nf4Tensor& tensor);

}  // namespace nf4bench::nf4
