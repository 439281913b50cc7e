// Weights are decoded to float32 a few rows at a time, and multiplied by a BLAS library. Each of
// our threads calls it for rows of its own, while they are in its cache. Of a weight that lies
// transposed it has some outputs, and decodes their part of some rows in memory at a time.

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

constexpr std::int64_t kOutputsOfPart = 256;  // of a transposed weight

// Sums are of even outputs and then of odd ones, as decode_part() gives them. Tokens are split, so
// that their even inputs follow each other, and then their odd ones.
void multiply_transposed(const Job& job, const float* x, Range outputs) {
  thread_local Scratch scratch;
  const std::int64_t stride = 2 * split_half(job.inputs);
  const std::int64_t count = outputs.last - outputs.first;
  const std::int64_t rows = kDecoded / kOutputsOfPart;
  scratch.w.resize(static_cast<std::size_t>(rows * count));
  scratch.y.resize(static_cast<std::size_t>(2 * count * job.tokens));
  float* const sums = scratch.y.data() + count * job.tokens;
  SgemmCall call = {.m = static_cast<int>(job.tokens),
                    .n = static_cast<int>(count),
                    .lda = static_cast<int>(stride),
                    .b = scratch.w.data(),
                    .ldb = static_cast<int>(count),
                    .c = sums,
                    .ldc = static_cast<int>(count),
                    .b_form = SecondMatrix::kAsIs};
  for (std::int64_t odd = 0; odd < std::min<std::int64_t>(2, job.inputs); ++odd) {
    const std::int64_t inputs = (job.inputs + 1 - odd) / 2;
    for (std::int64_t first = 0; first < inputs; first += rows) {
      const std::int64_t last = std::min(first + rows, inputs);
      for (std::int64_t i = first; i < last; ++i) {
        decode_part(job, 2 * i + odd, outputs, scratch.w.data() + (i - first) * count);
      }
      call.k = static_cast<int>(last - first);
      call.a = x + odd * stride / 2 + first;
      sgemm(call);
      call.beta = 1.0f;
    }
  }
  for (std::int64_t i = 0; i < count * job.tokens; ++i) {
    const std::int64_t at = i % count;
    scratch.y[static_cast<std::size_t>(i)] = sums[i - at + at / 2 + at % 2 * ((count + 1) / 2)];
  }
  round_to_output(job, scratch.y.data(), outputs);
}

void matmul(const Job& job, const Launch& launch) {
  auto* const x = static_cast<float*>(job.workspace);
  for_each_part(launch, {job.tokens, job.inputs},
                [&](Range range) { split_tokens(job, range, x); });
  const std::int64_t rows = job.transposed ? kOutputsOfPart : rows_of_part(job);
  const auto one_part = [&](std::int64_t part) {
    const Range range = {part * rows, std::min((part + 1) * rows, job.outputs)};
    job.transposed ? multiply_transposed(job, x, range) : multiply(job, x, range);
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
