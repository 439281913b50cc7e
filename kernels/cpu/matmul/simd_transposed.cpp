// The vector code of matmul's `simd` for weights that lie as [inputs, outputs], compiled once for
// each instruction set and chosen at run time.
//
// A row in memory then has one input's weights for all outputs. The part of some outputs is decoded
// for a few inputs, into a buffer that stays in the first cache, and multiplied with all tokens
// from there: vectors go along outputs, and each activation fills one.

#include "cpu/matmul/simd_product.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/matmul/simd_transposed.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // must precede highway.h
#include <hwy/highway.h>
#include "cpu/matmul/simd_weights-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace nf4bench::kernels::cpu::HWY_NAMESPACE {
namespace {

// Vectors of sums that a token has in registers.
constexpr int kVectors = 4;

// The part of a row in memory, as decode_part() wants it.
template <OutputType kType>
HWY_INLINE void decode_panel_row(const Job& job, std::int64_t input, Range outputs, float* even,
                                 float* odd) {
  const std::int64_t row = input * job.outputs;
  decode_split<kType>(job, row + outputs.first, row + outputs.last, even, odd);
}

// Rows lie too far apart for processors to see what comes next.
HWY_INLINE void fetch_row(const Job& job, std::int64_t input, Range outputs) {
  constexpr std::int64_t kLine = 64;
  if (input >= job.inputs) return;
  const std::int64_t end = (input * job.outputs + outputs.last + 1) / 2;
  for (std::int64_t i = (input * job.outputs + outputs.first) / 2; i < end; i += kLine) {
    __builtin_prefetch(job.packed + i);
  }
}

// Adds the products of `inputs` decoded rows, from the first of `x` on, to the sums of kCount
// tokens, for the outputs whose even or odd half begins at `w`.
template <int kCount>
HWY_INLINE void add_products(const float* w, std::int64_t inputs, const SplitTokens& x,
                             float* sums) {
  const Floats df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  Vector total[kCount][kVectors];
  for (int m = 0; m < kCount; ++m) {
    for (int v = 0; v < kVectors; ++v) {
      total[m][v] = hn::Load(df, sums + m * 2 * kPanelHalf + v * lanes);
    }
  }
  for (std::int64_t k = 0; k < inputs; ++k, w += 2 * kPanelHalf) {
    const float* const of_input = (k % 2 == 0 ? x.even : x.odd) + k / 2;
    Vector weights[kVectors];
    for (int v = 0; v < kVectors; ++v) weights[v] = hn::Load(df, w + v * lanes);
    for (int m = 0; m < kCount; ++m) {
      const Vector each = hn::Set(df, of_input[m * x.stride]);
      for (int v = 0; v < kVectors; ++v) total[m][v] = hn::MulAdd(weights[v], each, total[m][v]);
    }
  }
  for (int m = 0; m < kCount; ++m) {
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(total[m][v], df, sums + m * 2 * kPanelHalf + v * lanes);
    }
  }
}

// What lies in a panel behind the last output comes into sums that nobody reads.
HWY_INLINE void add_panel(PanelScratch& scratch, const ScratchUse& use, const SplitTokens& x,
                          std::int64_t half) {
  const std::int64_t step = kVectors * static_cast<std::int64_t>(hn::Lanes(Floats()));
  for (std::int64_t m = 0; m < use.tokens;) {
    const bool is_whole = m + kTokens <= use.tokens;
    const SplitTokens from = {
        .even = x.even + m * x.stride, .odd = x.odd + m * x.stride, .stride = x.stride};
    for (const std::int64_t first : {std::int64_t{0}, kPanelHalf}) {
      for (std::int64_t i = first; i < first + half; i += step) {
        float* const sums = scratch.sums[m] + i;
        if (is_whole) {
          add_products<kTokens>(scratch.rows[0] + i, use.rows, from, sums);
        } else {
          add_products<1>(scratch.rows[0] + i, use.rows, from, sums);
        }
      }
    }
    m += is_whole ? kTokens : 1;
  }
}

// Outputs and tokens that fit into the scratch.
template <OutputType kType>
HWY_INLINE void multiply_panel_tile(const Job& job, const SplitTokens& all, Range outputs,
                                    Range tokens) {
  const ThreadScratch<PanelScratch> own;
  PanelScratch& scratch = *own;
  const std::int64_t count = tokens.last - tokens.first;
  std::fill_n(scratch.sums[0], count * 2 * kPanelHalf, 0.0f);
  for (std::int64_t k = 0; k < job.inputs; k += kPanelInputs) {
    const std::int64_t rows = std::min(kPanelInputs, job.inputs - k);
    for (std::int64_t i = 0; i < rows; ++i) {
      fetch_row(job, k + i + kPanelInputs, outputs);
      decode_panel_row<kType>(job, k + i, outputs, scratch.rows[i], scratch.rows[i] + kPanelHalf);
    }
    const std::int64_t at = tokens.first * all.stride + k / 2;
    add_panel(scratch, {.rows = rows, .tokens = count},
              {.even = all.even + at, .odd = all.odd + at, .stride = all.stride},
              (outputs.last - outputs.first + 1) / 2);
  }
  auto* const output = static_cast<OutputBits<kType>*>(job.output);
  for (std::int64_t m = 0; m < count; ++m) {
    for (std::int64_t n = outputs.first; n < outputs.last; ++n) {
      const std::int64_t at = n - outputs.first;
      output[(tokens.first + m) * output_stride(job) + n] =
          finish_output<kType>(job, n, scratch.sums[m][at / 2 + at % 2 * kPanelHalf]);
    }
  }
}

template <OutputType kType>
HWY_INLINE void multiply_panel_type(const Job& job, const SplitTokens& x, Range outputs) {
  for (std::int64_t m = 0; m < job.tokens; m += kPanelTokens) {
    multiply_panel_tile<kType>(job, x, outputs, {m, std::min(m + kPanelTokens, job.tokens)});
  }
}

void multiply_in_panel(const Job& job, const SplitTokens& x, Range outputs) {
  switch (job.output_type) {
    case OutputType::kFloat16:
      return multiply_panel_type<OutputType::kFloat16>(job, x, outputs);
    case OutputType::kBfloat16:
      return multiply_panel_type<OutputType::kBfloat16>(job, x, outputs);
    case OutputType::kFloat32:
      return multiply_panel_type<OutputType::kFloat32>(job, x, outputs);
  }
}

void decode_in_panel(const Job& job, std::int64_t input, Range outputs, float* w) {
  float* const odd = w + (outputs.last - outputs.first + 1) / 2;
  switch (job.output_type) {
    case OutputType::kFloat16:
      return decode_panel_row<OutputType::kFloat16>(job, input, outputs, w, odd);
    case OutputType::kBfloat16:
      return decode_panel_row<OutputType::kBfloat16>(job, input, outputs, w, odd);
    case OutputType::kFloat32:
      return decode_panel_row<OutputType::kFloat32>(job, input, outputs, w, odd);
  }
}

}  // namespace
}  // namespace nf4bench::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nf4bench::kernels::cpu {
namespace {

HWY_EXPORT(multiply_in_panel);
HWY_EXPORT(decode_in_panel);

}  // namespace

void multiply_panel(const Job& job, const float* x, Range outputs) {
  const std::int64_t half = split_half(job.inputs);
  const SplitTokens tokens = {.even = x, .odd = x + half, .stride = 2 * half};
  HWY_DYNAMIC_DISPATCH(multiply_in_panel)(job, tokens, outputs);
}

void decode_part(const Job& job, std::int64_t input, Range outputs, float* w) {
  HWY_DYNAMIC_DISPATCH(decode_in_panel)(job, input, outputs, w);
}

}  // namespace nf4bench::kernels::cpu
#endif  // HWY_ONCE
