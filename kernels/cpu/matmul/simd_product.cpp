// The vector code of matmul's `simd`, compiled once for each instruction set and chosen at run
// time.
//
// A vector of bytes gives two vectors of weights, for even and for odd inputs. A few tokens are
// multiplied with them at once. For many, some rows of W are decoded stretch by stretch into a
// buffer that stays in the cache, and multiplied with all tokens from there.

#include "cpu/matmul/simd_product.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/matmul/simd_product.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // must precede highway.h
#include <hwy/highway.h>
#include "cpu/matmul/simd_weights-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace nf4bench::kernels::cpu::HWY_NAMESPACE {
namespace {

// Rows of W that are multiplied at once, in registers.
constexpr std::int64_t kRows = 4;

// So few tokens are multiplied with weights straight from the look up.
constexpr std::int64_t kFewTokens = 4;

// Inputs [first, first + count) of row `n` of W into row `slot`.
template <OutputType kType>
HWY_INLINE void decode_row(const Job& job, std::int64_t n, Range inputs, float* even, float* odd) {
  const std::int64_t begin = n * job.inputs + inputs.first;
  const std::int64_t end = n * job.inputs + inputs.last;
  const std::int64_t half = (end - begin + 1) / 2;
  std::fill_n(even + half - 1, kCodes + 1, 0.0f);
  std::fill_n(odd + half - 1, kCodes + 1, 0.0f);
  decode_split<kType>(job, begin, end, even, odd);
}

// Adds the products of a stretch of `half` floats to sums[row * tokens + token].
template <int kCount>
HWY_INLINE void add_products(const DecodedRow* w, const SplitTokens& x, std::int64_t half,
                             float* sums, std::int64_t tokens) {
  const Floats df;
  Vector total[kRows][kCount];
  for (auto& row : total) {
    for (Vector& each : row) each = hn::Zero(df);
  }
  for (std::int64_t i = 0; i < half; i += static_cast<std::int64_t>(hn::Lanes(df))) {
    Vector even[kCount];
    Vector odd[kCount];
    for (int m = 0; m < kCount; ++m) {
      even[m] = hn::LoadU(df, x.even + m * x.stride + i);
      odd[m] = hn::LoadU(df, x.odd + m * x.stride + i);
    }
    for (int n = 0; n < kRows; ++n) {
      const Vector weight = hn::Load(df, w[n].even + i);
      for (int m = 0; m < kCount; ++m) total[n][m] = hn::MulAdd(weight, even[m], total[n][m]);
    }
    for (int n = 0; n < kRows; ++n) {
      const Vector weight = hn::Load(df, w[n].odd + i);
      for (int m = 0; m < kCount; ++m) total[n][m] = hn::MulAdd(weight, odd[m], total[n][m]);
    }
  }
  for (int n = 0; n < kRows; ++n) {
    for (int m = 0; m < kCount; ++m) {
      sums[n * tokens + m] += hn::GetLane(hn::SumOfLanes(df, total[n][m]));
    }
  }
}

// Tokens from the first of `x` on, with decoded rows of a stretch.
HWY_INLINE void add_all_products(ProductScratch& scratch, const ScratchUse& use,
                                 const SplitTokens& x, Range stretch) {
  const std::int64_t tokens = use.tokens;
  const std::int64_t half = (stretch.last - stretch.first + 1) / 2;
  for (std::int64_t m = 0; m < tokens;) {
    const std::int64_t at = m * x.stride + stretch.first / 2;
    const SplitTokens from = {.even = x.even + at, .odd = x.odd + at, .stride = x.stride};
    const bool is_whole = m + kTokens <= tokens;
    for (std::int64_t n = 0; n < use.rows; n += kRows) {
      float* const sums = scratch.sums + n * tokens + m;
      if (is_whole) {
        add_products<kTokens>(scratch.rows + n, from, half, sums, tokens);
      } else {
        add_products<1>(scratch.rows + n, from, half, sums, tokens);
      }
    }
    m += is_whole ? kTokens : 1;
  }
}

// Rows and tokens that fit into the scratch.
template <OutputType kType>
HWY_INLINE void multiply_tile(const Job& job, const SplitTokens& all, Range rows, Range tokens) {
  const ThreadScratch<ProductScratch> own;
  ProductScratch& scratch = *own;
  const SplitTokens x = {.even = all.even + tokens.first * all.stride,
                         .odd = all.odd + tokens.first * all.stride,
                         .stride = all.stride};
  const ScratchUse use = {.rows = rows.last - rows.first, .tokens = tokens.last - tokens.first};
  std::fill_n(scratch.sums, kMostRows * use.tokens, 0.0f);
  for (std::int64_t k = 0; k < job.inputs; k += 2 * kStretch) {
    const Range stretch = {k, std::min(k + 2 * kStretch, job.inputs)};
    for (std::int64_t n = 0; n < use.rows; ++n) {
      decode_row<kType>(job, rows.first + n, stretch, scratch.rows[n].even, scratch.rows[n].odd);
    }
    add_all_products(scratch, use, x, stretch);
  }
  auto* const output = static_cast<OutputBits<kType>*>(job.output);
  for (std::int64_t n = 0; n < use.rows; ++n) {
    for (std::int64_t m = 0; m < use.tokens; ++m) {
      output[(tokens.first + m) * output_stride(job) + rows.first + n] =
          finish_output<kType>(job, rows.first + n, scratch.sums[n * use.tokens + m]);
    }
  }
}

template <OutputType kType>
HWY_INLINE void multiply_many(const Job& job, const SplitTokens& x, Range rows) {
  for (std::int64_t n = rows.first; n < rows.last; n += kMostRows) {
    for (std::int64_t m = 0; m < job.tokens; m += kMostTokens) {
      multiply_tile<kType>(job, x, {n, std::min(n + kMostRows, rows.last)},
                           {m, std::min(m + kMostTokens, job.tokens)});
    }
  }
}

// The sums of one row that begins with a byte.
template <int kCount>
struct RowSums {
  Vector even[kCount];
  Vector odd[kCount];
  float rest[kCount] = {};

  HWY_INLINE RowSums() {
    for (int m = 0; m < kCount; ++m) even[m] = odd[m] = hn::Zero(Floats());
  }

  // Bytes [at, at + count) of the row, all of one block.
  HWY_INLINE void add(const std::uint8_t* packed, Range bytes, const float* table,
                      const SplitTokens& x) {
    const Floats df;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
    const Lookup lookup(table);
    std::int64_t i = bytes.first;
    for (; i + lanes <= bytes.last; i += lanes) {
      const Pair weights = decode_vector(lookup, packed + i);
      for (int m = 0; m < kCount; ++m) {
        const std::int64_t place = m * x.stride + i;
        even[m] = hn::MulAdd(weights.even, hn::LoadU(df, x.even + place), even[m]);
        odd[m] = hn::MulAdd(weights.odd, hn::LoadU(df, x.odd + place), odd[m]);
      }
    }
    for (; i < bytes.last; ++i) {
      for (int m = 0; m < kCount; ++m) {
        const std::int64_t place = m * x.stride + i;
        rest[m] += table[packed[i] >> 4] * x.even[place] + table[packed[i] & 15] * x.odd[place];
      }
    }
  }

  HWY_INLINE float total(int m) const {
    const Floats df;
    return hn::GetLane(hn::SumOfLanes(df, hn::Add(even[m], odd[m]))) + rest[m];
  }
};

// Rows of an even number of inputs.
template <OutputType kType, int kCount>
HWY_INLINE void multiply_few(const Job& job, const SplitTokens& x, Range rows) {
  auto* const output = static_cast<OutputBits<kType>*>(job.output);
  alignas(64) float table[kCodes];
  for (std::int64_t n = rows.first; n < rows.last; ++n) {
    const std::int64_t begin = n * job.inputs;
    const std::int64_t end = begin + job.inputs;
    RowSums<kCount> sums;
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t block = i >> job.block_shift;
      const std::int64_t stop = std::min(end, (block + 1) << job.block_shift);
      build_table<kType>(block_scale(job, block), table);
      sums.add(job.packed + begin / 2, {(i - begin) / 2, (stop - begin) / 2}, table, x);
      i = stop;
    }
    for (int m = 0; m < kCount; ++m) {
      output[m * output_stride(job) + n] = finish_output<kType>(job, n, sums.total(m));
    }
  }
}

template <OutputType kType>
HWY_INLINE void multiply_type(const Job& job, const SplitTokens& x, Range rows) {
  if (job.inputs % 2 != 0 || job.tokens > kFewTokens) return multiply_many<kType>(job, x, rows);
  switch (job.tokens) {
    case 1:
      return multiply_few<kType, 1>(job, x, rows);
    case 2:
      return multiply_few<kType, 2>(job, x, rows);
    case 3:
      return multiply_few<kType, 3>(job, x, rows);
    default:
      return multiply_few<kType, 4>(job, x, rows);
  }
}

void multiply(const Job& job, const SplitTokens& x, Range rows) {
  switch (job.output_type) {
    case OutputType::kFloat16:
      return multiply_type<OutputType::kFloat16>(job, x, rows);
    case OutputType::kBfloat16:
      return multiply_type<OutputType::kBfloat16>(job, x, rows);
    case OutputType::kFloat32:
      return multiply_type<OutputType::kFloat32>(job, x, rows);
  }
}

// Rows [rows.first, rows.last) of W, one after the other at `w`, split as tokens are.
template <OutputType kType>
HWY_INLINE void decode_type(const Job& job, Range rows, float* w) {
  const std::int64_t half = split_half(job.inputs);
  std::fill_n(w, 2 * half * (rows.last - rows.first), 0.0f);
  for (std::int64_t n = rows.first; n < rows.last; ++n, w += 2 * half) {
    const std::int64_t begin = n * job.inputs;
    decode_split<kType>(job, begin, begin + job.inputs, w, w + half);
  }
}

void decode(const Job& job, Range rows, float* w) {
  switch (job.output_type) {
    case OutputType::kFloat16:
      return decode_type<OutputType::kFloat16>(job, rows, w);
    case OutputType::kBfloat16:
      return decode_type<OutputType::kBfloat16>(job, rows, w);
    case OutputType::kFloat32:
      return decode_type<OutputType::kFloat32>(job, rows, w);
  }
}

}  // namespace
}  // namespace nf4bench::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nf4bench::kernels::cpu {
namespace {

HWY_EXPORT(multiply);
HWY_EXPORT(decode);

template <OutputType kType>
void split_token(const Job& job, std::int64_t token, float* x) {
  const auto* from = static_cast<const OutputBits<kType>*>(job.input) + token * job.inputs;
  const std::int64_t half = split_half(job.inputs);
  std::fill_n(x, 2 * half, 0.0f);
  for (std::int64_t k = 0; k < job.inputs; ++k) {
    x[k / 2 + k % 2 * half] = from_output_bits<kType>(from[k]);
  }
}

}  // namespace

std::int64_t split_half(std::int64_t inputs) {
  return block_count(inputs, 2 * kCodes) * kCodes;
}

std::size_t split_tokens_bytes(const Problem& problem, const Launch&) {
  return static_cast<std::size_t>(problem.tokens * 2 * split_half(problem.inputs)) * sizeof(float);
}

void split_tokens(const Job& job, Range range, float* x) {
  x += range.first * 2 * split_half(job.inputs);
  for (std::int64_t m = range.first; m < range.last; ++m, x += 2 * split_half(job.inputs)) {
    switch (job.output_type) {
      case OutputType::kFloat16:
        split_token<OutputType::kFloat16>(job, m, x);
        break;
      case OutputType::kBfloat16:
        split_token<OutputType::kBfloat16>(job, m, x);
        break;
      case OutputType::kFloat32:
        split_token<OutputType::kFloat32>(job, m, x);
        break;
    }
  }
}

void multiply_rows(const Job& job, const float* x, Range rows) {
  const std::int64_t half = split_half(job.inputs);
  HWY_DYNAMIC_DISPATCH(multiply)(job, {.even = x, .odd = x + half, .stride = 2 * half}, rows);
}

void decode_rows(const Job& job, Range rows, float* w) {
  HWY_DYNAMIC_DISPATCH(decode)(job, rows, w);
}

}  // namespace nf4bench::kernels::cpu
#endif  // HWY_ONCE
