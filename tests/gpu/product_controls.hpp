#pragma once

#include "variant.hpp"

#include <vector>

namespace nf4bench::test {

// Matrix products of 16-bit types that are right, each in its own way, and ones that are wrong in
// ways that real kernels are. `transposed` takes as many tokens as outputs.
std::vector<kernels::Variant> product_controls();

// Right, but all calls except the first write on a stream of their own, after some time.
kernels::Variant late_product();

}  // namespace nf4bench::test
