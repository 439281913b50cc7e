#pragma once

#include "operation/operation.hpp"

namespace nf4bench::operation {

// The gradient of a layer y = x W^T with respect to x: dX[tokens, inputs] = dY[tokens, outputs]
// W[outputs, inputs]. As matmul() with a weight that lies transposed: a problem's inputs are the
// outputs of the layer, and its outputs the layer's inputs.
const Operation& backward();

}  // namespace nf4bench::operation
