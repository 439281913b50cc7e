#pragma once

#include "operation/operation.hpp"

namespace nf4bench::operation {

// y[tokens, outputs] = x[tokens, inputs] W[outputs, inputs]^T with an NF4 weight; x and y in the
// same type, sums in float32. One problem for each number of tokens of the options.
const Operation& matmul();

}  // namespace nf4bench::operation
