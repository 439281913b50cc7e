#pragma once

#include "cpu/job_parts.hpp"
#include "cpu/thread_scratch.hpp"
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

// As many rows as the second cache holds are decoded for many tokens, each from so many bytes at a
// time: a stretch of a few tokens stays in the first cache.
inline constexpr std::int64_t kMostRows = 32;
inline constexpr std::int64_t kStretch = 1024;

// Tokens that they are multiplied with before they are decoded again.
inline constexpr std::int64_t kMostTokens = 512;

// Decoded weights of even and of odd inputs apart. Zero behind the end of a stretch, so that whole
// vectors may be read.
struct DecodedRow {
  alignas(64) float even[kStretch + kCodes];
  alignas(64) float odd[kStretch + kCodes];
};

// What a thread works with.
struct ProductScratch {
  DecodedRow rows[kMostRows];
  float sums[kMostRows * kMostTokens];  // [rows, tokens]
};

struct ScratchUse {
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
};

// Fills rows [range.first, range.last) of x, which has one for each token.
void split_tokens(const Job& job, Range range, float* x);

// Outputs of rows [rows.first, rows.last) of W, for all tokens; `x` are all of these, split.
void multiply_rows(const Job& job, const float* x, Range rows);

// Fills `w` with rows [rows.first, rows.last) of W, split.
void decode_rows(const Job& job, Range rows, float* w);

// ---- Where W lies as [inputs, outputs] ----

// Weights of so many inputs are decoded at once, for half of the outputs that a thread takes: the
// first cache holds them.
inline constexpr std::int64_t kPanelInputs = 32;
inline constexpr std::int64_t kPanelHalf = 128;

// Tokens that they are multiplied with before they are decoded again.
inline constexpr std::int64_t kPanelTokens = 64;

// What a thread works with: weights and sums of even and, from kPanelHalf on, of odd outputs.
struct PanelScratch {
  alignas(64) float rows[kPanelInputs][2 * kPanelHalf];
  alignas(64) float sums[kPanelTokens][2 * kPanelHalf];
};

// At most 2 * kPanelHalf outputs, for all tokens; `x` as in multiply_rows().
void multiply_panel(const Job& job, const float* x, Range outputs);

// Fills `w` with the weights of one input, those of even outputs first, counted from outputs.first.
void decode_part(const Job& job, std::int64_t input, Range outputs, float* w);

}  // namespace nf4bench::kernels::cpu
