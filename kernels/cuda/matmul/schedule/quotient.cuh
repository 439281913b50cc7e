#pragma once

// A division of integers takes some 25 instructions, one after the other, and at the start of a
// kernel everything waits for it. What the host knows it divides there.

namespace nf4bench::kernels::cuda {

// dividend / divisor of small numbers, below 2^20: the half keeps the rounded product from falling
// below a whole number that the quotient reaches.
__host__ __device__ inline int quotient(int dividend, float one_by_divisor) {
  return static_cast<int>((static_cast<float>(dividend) + 0.5f) * one_by_divisor);
}

}  // namespace nf4bench::kernels::cuda
