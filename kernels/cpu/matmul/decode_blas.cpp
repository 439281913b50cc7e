// Weights are decoded to float32 a few rows at a time, and multiplied by a BLAS library. Each of
// our threads calls it for rows of its own, while they are in its cache.

#include "cpu/matmul/blas_library.hpp"
#include "cpu/matmul/simd_product.hpp"
#include "cpu/matmul/variants.hpp"

#include <vector>

namespace nf4bench::kernels::cpu {
namespace {

// Floats of decoded rows that a thread holds: a megabyte.
constexpr std::int64_t kDecoded = std::int64_t{1} << 18;

std::int64_t rows_of_part(const Problem& problem) {
  return std::clamp<std::int64_t>(kDecoded / (2 * split_half(problem.inputs)), 16, 128);
}

// What a thread works with.
struct Scratch {
  std::vector<float> w;  // [rows, split inputs]
  std::vector<float> y;  // [tokens, rows]
};

template <OutputType kType>
void round_to_output(const Job& job, const float* y, Range rows) {
  auto* const output = static_cast<OutputBits<kType>*>(job.output);
  for (std::int64_t m = 0; m < job.tokens; ++m) {
    for (std::int64_t n = rows.first; n < rows.last; ++n) {
      output[m * job.outputs + n] = to_output_bits<kType>(*y++);
    }
  }
}

void round_to_output(const Job& job, const float* y, Range rows) {
  switch (job.output_type) {
    case OutputType::kFloat16:
      return round_to_output<OutputType::kFloat16>(job, y, rows);
    case OutputType::kBfloat16:
      return round_to_output<OutputType::kBfloat16>(job, y, rows);
    case OutputType::kFloat32:
      return round_to_output<OutputType::kFloat32>(job, y, rows);
  }
}

void multiply(const Job& job, const float* x, Range rows) {
  thread_local Scratch scratch;
  const std::int64_t inputs = 2 * split_half(job.inputs);
  const std::int64_t count = rows.last - rows.first;
  scratch.w.resize(static_cast<std::size_t>(count * inputs));
  scratch.y.resize(static_cast<std::size_t>(count * job.tokens));
  decode_rows(job, rows, scratch.w.data());
  sgemm({.m = static_cast<int>(job.tokens),
         .n = static_cast<int>(count),
         .k = static_cast<int>(inputs),
         .a = x,
         .lda = static_cast<int>(inputs),
         .b = scratch.w.data(),
         .ldb = static_cast<int>(inputs),
         .c = scratch.y.data(),
         .ldc = static_cast<int>(count)});
  round_to_output(job, scratch.y.data(), rows);
}

void matmul(const Job& job, const Launch& launch) {
  auto* const x = static_cast<float*>(job.workspace);
  for_each_part(launch, {job.tokens, job.inputs},
                [&](Range range) { split_tokens(job, range, x); });
  const std::int64_t rows = rows_of_part(job);
  const auto one_part = [&](std::int64_t part) {
    multiply(job, x, {part * rows, std::min((part + 1) * rows, job.outputs)});
  };
  run_parts(launch.device.multiprocessors, block_count(job.outputs, rows), std::ref(one_part));
}

}  // namespace

Variant matmul_decode_blas() {
  Variant variant;
  variant.name = "decode_blas";
  variant.summary = "decodes rows to float32 and multiplies them by the BLAS library that is found";
  variant.traits.launches = 3;
  variant.traits.mirrors = "dequantize, then multiply";
  variant.unsupported = [](const Problem&, const DeviceFacts&) -> const char* {
    return has_blas() ? nullptr
                      : "there is no BLAS library with a C interface: install libopenblas0";
  };
  variant.workspace_bytes = split_tokens_bytes;
  variant.launch = matmul;
  return variant;
}

}  // namespace nf4bench::kernels::cpu
