#pragma once

// bfloat16 activations on Turing, whose tensor cores multiply float16 alone, and activations whose
// products are added up in float16. A launch before the product multiplies each token by the power
// of two that brings its largest value to 2^14 or more, or to 2^8 or more where 64 products with
// weights of up to 1 must stay in range, and rounds it to float16; the product's sums are
// multiplied by the inverse. Values of bfloat16 are exact down to 2^-31, or 2^-25, of their token's
// largest, and lose digits below.

#include "variant.hpp"

#include <algorithm>
#include <cstddef>

namespace nf4bench::kernels::cuda {

// What the sums of tokens are multiplied by.
struct TokenFactors {
  const float* values = nullptr;  // one a token; null: 1
};

// Into which range tokens are brought.
enum class TokenRange { kGiven, kFloat16, kFloat16Sums };

inline bool takes_float16_tokens(const Problem& problem, const DeviceFacts& device) {
  return problem.output_type == OutputType::kBfloat16 && device.compute_capability < 80;
}

inline TokenRange token_range(const Problem& problem, const DeviceFacts& device) {
  return takes_float16_tokens(problem, device) ? TokenRange::kFloat16 : TokenRange::kGiven;
}

// Behind the workspace of a product: factors, and tokens, of which so many are multiplied at once
// that they take 16 MiB.
struct Float16Workspace {
  std::int64_t most;  // tokens at once
  std::int64_t factors;
  std::int64_t tokens;
  std::int64_t bytes;

  Float16Workspace(const Problem& problem, std::size_t product_bytes)
      : most(std::clamp<std::int64_t>((std::int64_t{8} << 20) / std::max(problem.inputs, kOne), 1,
                                      std::max(problem.tokens, kOne))),
        factors(block_count(static_cast<std::int64_t>(product_bytes), 256) * 256),
        tokens(factors + block_count(most * 4, 256) * 256),
        bytes(tokens + most * problem.inputs * 2) {}

 private:
  static constexpr std::int64_t kOne = 1;
};

inline std::size_t with_float16_tokens(std::size_t product_bytes, const Problem& problem,
                                       TokenRange range) {
  return range != TokenRange::kGiven
             ? static_cast<std::size_t>(Float16Workspace(problem, product_bytes).bytes)
             : product_bytes;
}

// Brings `rows` rows of a type into a range, in which they may be where they were, and writes the
// factors. Where `there` is given, the rows from the number in it on are left alone. One launch.
void launch_float16_tokens(const Launch& launch, OutputType type, TokenRange range,
                           const void* from, void* to, float* factors, std::int64_t rows,
                           std::int64_t inputs, const int* there = nullptr);

// Makes the tokens of `job`, of 16 bits a value, begin so many later; their number stays.
inline void skip_tokens(Job& job, std::int64_t tokens) {
  job.input = static_cast<const std::uint16_t*>(job.input) + tokens * job.inputs;
  job.output = static_cast<std::uint16_t*>(job.output) + tokens * output_stride(job);
}

// Calls multiply(Job, TokenFactors) for all tokens, as they are given or as many at a time as the
// workspace has room for.
template <class Multiply>
void with_tokens(const Job& job, const Launch& launch, TokenRange range, std::size_t product_bytes,
                 Multiply multiply) {
  if (range == TokenRange::kGiven) return multiply(job, TokenFactors{});
  const Float16Workspace parts(job, product_bytes);
  auto* const workspace = static_cast<std::uint8_t*>(job.workspace);
  auto* const factors = reinterpret_cast<float*>(workspace + parts.factors);
  for (std::int64_t first = 0; first < job.tokens; first += parts.most) {
    Job part = job;
    skip_tokens(part, first);
    part.tokens = std::min(parts.most, job.tokens - first);
    launch_float16_tokens(launch, job.output_type, range, part.input, workspace + parts.tokens,
                          factors, part.tokens, job.inputs);
    part.input = workspace + parts.tokens;
    multiply(part, TokenFactors{factors});
  }
}

}  // namespace nf4bench::kernels::cuda
