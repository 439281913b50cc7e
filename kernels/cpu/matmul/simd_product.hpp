#pragma once

#include "cpu/job_parts.hpp"
#include "variant.hpp"

#include <cstdint>

namespace nf4bench::kernels::cpu {

// Activations as the vector code reads them: float32, those of even k and those of odd k apart,
// because that is how the nibbles of a byte come.
struct SplitTokens {
  const float* even = nullptr;  // [tokens, stride]
  const float* odd = nullptr;   // the same
  std::int64_t stride = 0;      // floats from one token to the next
};

// Floats of one token in SplitTokens: half of `inputs`, rounded up so that vectors may read on.
std::int64_t split_stride(std::int64_t inputs);

// Fills what `even` and `odd` of a SplitTokens point to with tokens [range.first, range.last).
void split_tokens(const Job& job, Range range, float* even, float* odd);

// Outputs of rows [rows.first, rows.last) of W, for all tokens.
void multiply_rows(const Job& job, const SplitTokens& x, Range rows);

}  // namespace nf4bench::kernels::cpu
