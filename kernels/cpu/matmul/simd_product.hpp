#pragma once

#include "cpu/job_parts.hpp"
#include "variant.hpp"

#include <cstddef>
#include <cstdint>

namespace nf4bench::kernels::cpu {

// Rows of inputs as the vector code reads them: float32, those of even k in the first half of a row
// and those of odd k in the second, because that is how the nibbles of a byte come. Both halves end
// in zeros, so that whole vectors may be read.

// Floats of half a row of so many inputs.
std::int64_t split_half(std::int64_t inputs);

// Bytes of all tokens, split.
std::size_t split_tokens_bytes(const Problem& problem, const Launch& launch);

// Split rows, as pointers to their halves.
struct SplitTokens {
  const float* even = nullptr;
  const float* odd = nullptr;
  std::int64_t stride = 0;  // floats from one token to the next
};

// Fills rows [range.first, range.last) of x, which has one for each token.
void split_tokens(const Job& job, Range range, float* x);

// Outputs of rows [rows.first, rows.last) of W, for all tokens; `x` are all of these, split.
void multiply_rows(const Job& job, const float* x, Range rows);

// Fills `w` with rows [rows.first, rows.last) of W, split.
void decode_rows(const Job& job, Range rows, float* w);

}  // namespace nf4bench::kernels::cpu
