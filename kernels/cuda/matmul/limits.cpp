#include "cuda/matmul/limits.hpp"

#include "cuda/matmul/float16_tokens.hpp"
#include "cuda/matmul/linear/linear_plan.hpp"
#include "cuda/matmul/wgmma/config.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr std::int64_t kMostInputs = std::int64_t{1} << 20;  // no plan has to count more
// Of more than one token: beyond it to quantize all of them in each block takes too long (H200).
constexpr std::int64_t kMostTokensInputs = 12288;
constexpr const char* kTooManyInputs = "has more inputs than fit into shared memory";
// Elements from a row of y to the next that epilogues which would spill registers do not count to.
constexpr std::int64_t kFarRows = std::int64_t{1} << 31;
constexpr const char* kRowsFarApart = "needs rows of y less than 2^31 apart";

}  // namespace

const char* mma_linear_unsupported(const Problem& problem, const DeviceFacts& device) {
  if (problem.transposed) return kNeedsRows;
  if (device.compute_capability < 80) return "needs integer tensor cores of compute capability 8.0";
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (problem.inputs % 64 != 0) return "needs a multiple of 64 inputs";
  if (problem.block_shift < 6) return "needs a blocksize of 64 or more";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  if (problem.inputs > kMostInputs) return kTooManyInputs;
  if (problem.tokens > kMostIntegerTokens) return "multiplies up to 4 tokens";
  if (output_stride(problem) >= kFarRows) return kRowsFarApart;
  if (problem.tokens > 1 && problem.inputs > kMostTokensInputs) {
    return "multiplies more than one token with up to 12,288 inputs only";
  }
  const PlannedUnits planned =
      problem.tokens > 1 ? plan_tokens(problem, device) : plan_vector(problem, device);
  return planned.grid.shared_bytes > shared_bytes_a_block(device) ? kTooManyInputs : nullptr;
}

const char* wgmma_decode_unsupported(const Problem& problem, const DeviceFacts& device) {
  if (device.compute_capability != 90)
    return "needs the warpgroup products of compute capability 9.0";
  if (problem.transposed && problem.outputs % 64 != 0) return kNeedsWholeBlocks;
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (problem.inputs % 64 != 0) return "needs a multiple of 64 inputs";
  if (problem.block_shift < 6) return "needs a blocksize of 64 or more";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  if (problem.tokens > kMostWgmmaTokens) return "multiplies up to 2^20 tokens";
  if (output_stride(problem) >= kFarRows) return kRowsFarApart;
  return nullptr;
}

const char* mma_ring_unsupported(const Problem& problem, const DeviceFacts& device) {
  if (problem.transposed) {
    if (problem.outputs % 64 != 0) return kNeedsWholeBlocks;
    if (problem.block_shift < 6) return "needs a blocksize of 64 or more";
    if (takes_float16_tokens(problem, device)) return kNeedsFloat16;
  }
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (problem.inputs % 64 != 0) return "needs a multiple of 64 inputs";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  if (problem.inputs > std::int64_t{1} << 24) return "needs at most 2^24 inputs";
  if (problem.tokens > std::int64_t{1} << 20) return "multiplies up to 2^20 tokens";
  if (output_stride(problem) >= kFarRows) return kRowsFarApart;
  return nullptr;
}

const char* gemv_shuffle_unsupported(const Problem& problem, const DeviceFacts&) {
  if (problem.transposed) return kNeedsRows;
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  if (problem.inputs % 32 != 0) return "needs a multiple of 32 inputs";
  if (problem.tokens != 1) return "multiplies one token";
  if (problem.elements >= std::int64_t{1} << 37) return "needs fewer than 2^37 weights";
  return nullptr;
}

const char* mma_table_unsupported(const Problem& problem, const DeviceFacts&) {
  if (problem.transposed) return kNeedsRows;
  if (problem.output_type == OutputType::kFloat32) return "multiplies 16-bit activations only";
  constexpr std::int64_t kMi = std::int64_t{1} << 20;
  if (problem.tokens > 256 * kMi || problem.outputs > 256 * kMi || problem.inputs > 16 * kMi) {
    return "needs at most 2^28 tokens and outputs, and 2^24 inputs";
  }
  if (problem.tokens * problem.outputs > kMi << 20) return "needs at most 2^40 outputs in all";
  return nullptr;
}

}  // namespace nf4bench::kernels::cuda
