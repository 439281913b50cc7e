#pragma once

#include "operation/operation.hpp"

namespace nf4bench::operation {

// y[tokens, outputs] = x[tokens, inputs] W[outputs, inputs]^T with an NF4 weight; x and y in the
// same type, sums in float32. One problem for each number of tokens of the options.
const Operation& matmul();

// A sample of so many values is one of products: sixteen for each value, not all that these are
// made of. How many outputs of `inputs` products each that are.
std::int64_t most_outputs(std::int64_t most_values, std::int64_t inputs);

// The gradient of a layer y = x W^T with respect to x: dX[tokens, inputs] = dY[tokens, outputs]
// W[outputs, inputs]. As matmul() with a weight that lies transposed: a problem's inputs are the
// outputs of the layer, and its outputs the layer's inputs.
const Operation& backward();

}  // namespace nf4bench::operation
