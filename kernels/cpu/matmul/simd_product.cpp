// The vector code of matmul's `simd`, compiled once for each instruction set and chosen at run
// time.
//
// A block has 16 weights, one for each code, that fit into one or two vectors: decoding is one look
// up in registers. A byte holds the codes of an even and of the next odd input, so that a vector of
// bytes gives two vectors of weights, for even and for odd inputs. A few tokens are multiplied with
// them at once. For many, some rows of W are decoded stretch by stretch into a buffer that stays in
// the cache, and multiplied with all tokens from there.

#include "cpu/matmul/simd_product.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/matmul/simd_product.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // must precede highway.h
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace nf4bench::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kCodes>;
using Vector = hn::Vec<Floats>;

// Rows of W and tokens that are multiplied at once, in registers.
constexpr std::int64_t kRows = 4;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
constexpr int kTokens = 2;  // of 16 registers
#else
constexpr int kTokens = 4;
#endif

// So few tokens are multiplied with weights straight from the look up.
constexpr std::int64_t kFewTokens = 4;

// `product` rounded to the output type.
template <OutputType kType>
HWY_INLINE Vector round_to_type(Floats df, Vector product) {
  const hn::RebindToUnsigned<Floats> du;
  const auto bits = hn::BitCast(du, product);
  if constexpr (kType == OutputType::kFloat32) {
    return product;
  } else if constexpr (kType == OutputType::kBfloat16) {
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    const auto carried = hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
    return hn::BitCast(df, hn::And(carried, hn::Set(du, 0xffff0000u)));
  } else {
    const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1u));
    const auto carried = hn::Add(hn::Add(bits, hn::Set(du, 0xfffu)), odd);
    const Vector normal = hn::BitCast(df, hn::And(carried, hn::Set(du, 0xffffe000u)));
    const Vector magnitude = hn::Abs(product);
    // Beside 0.5, whose last place is 2^-24, an addition rounds to binary16 subnormals.
    const Vector half = hn::Set(df, 0.5f);
    const Vector subnormal = hn::CopySign(hn::Sub(hn::Add(magnitude, half), half), product);
    return hn::IfThenElse(hn::Lt(magnitude, hn::Set(df, 0x1p-14f)), subnormal, normal);
  }
}

// The weights that the 16 codes have under `scale`.
template <OutputType kType>
HWY_INLINE void build_table(float scale, float* table) {
  const float magnitude = std::fabs(scale);
  // Below 2^-122 products may be subnormal; above, half precision may overflow.
  if (!(magnitude >= 0x1p-122f && magnitude <= 65000.0f)) {
    for (int code = 0; code < kCodes; ++code) {
      table[code] = from_output_bits<kType>(
          to_output_bits<kType>(nf4::multiply_flushed(kCodebook[code], scale)));
    }
    return;
  }
  const Floats df;
  for (std::size_t i = 0; i < kCodes; i += hn::Lanes(df)) {
    const Vector product = hn::Mul(hn::LoadU(df, kCodebook + i), hn::Set(df, scale));
    hn::Store(round_to_type<kType>(df, product), df, table + i);
  }
}

// A table of 16 floats, to look up lanes in.
class Lookup {
 public:
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  HWY_INLINE explicit Lookup(const float* table) : table_(hn::Load(Floats(), table)) {}

  // The entries that the lower four bits of `codes` name.
  template <class Codes>
  HWY_INLINE Vector operator()(Floats df, Codes codes) const {
    const hn::RebindToSigned<Floats> di;
    const auto index = hn::And(hn::BitCast(di, codes), hn::Set(di, 15));
    return hn::TableLookupLanes(table_, hn::IndicesFromVec(df, index));
  }

 private:
  Vector table_;
#elif HWY_TARGET == HWY_AVX2
  HWY_INLINE explicit Lookup(const float* table)
      : low_(hn::Load(Floats(), table)), high_(hn::Load(Floats(), table + 8)) {}

  template <class Codes>
  HWY_INLINE Vector operator()(Floats df, Codes codes) const {
    const hn::RebindToSigned<Floats> di;
    const auto index = hn::BitCast(di, codes);
    const auto lane = hn::IndicesFromVec(df, hn::And(index, hn::Set(di, 7)));
    const auto is_high = hn::MaskFromVec(hn::BitCast(df, hn::ShiftLeft<28>(index)));
    return hn::IfThenElse(is_high, hn::TableLookupLanes(high_, lane),
                          hn::TableLookupLanes(low_, lane));
  }

 private:
  Vector low_;
  Vector high_;
#else
  HWY_INLINE explicit Lookup(const float* table) : table_(table) {}

  template <class Codes>
  HWY_INLINE Vector operator()(Floats df, Codes codes) const {
    const hn::RebindToSigned<Floats> di;
    const auto index = hn::And(hn::BitCast(di, codes), hn::Set(di, 15));
    return hn::GatherIndex(df, table_, index);
  }

 private:
  const float* table_;
#endif
};

// The weights of the bytes at `packed`, as many as a vector has lanes.
struct Pair {
  Vector even;
  Vector odd;
};

HWY_INLINE Pair decode_vector(const Lookup& lookup, const std::uint8_t* packed) {
  const Floats df;
  const hn::RebindToUnsigned<Floats> du;
  const hn::Rebind<std::uint8_t, Floats> d8;
  const auto bytes = hn::PromoteTo(du, hn::LoadU(d8, packed));
  return {lookup(df, hn::ShiftRight<4>(bytes)), lookup(df, bytes)};
}

// Decodes `count` bytes under one table.
HWY_INLINE void decode_bytes(const std::uint8_t* packed, std::int64_t count, const float* table,
                             float* even, float* odd) {
  const Floats df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const Lookup lookup(table);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Pair weights = decode_vector(lookup, packed + i);
    hn::StoreU(weights.even, df, even + i);
    hn::StoreU(weights.odd, df, odd + i);
  }
  for (; i < count; ++i) {
    even[i] = table[packed[i] >> 4];
    odd[i] = table[packed[i] & 15];
  }
}

// Inputs [first, last) of row `n`, where even inputs stand in the high halves of bytes.
template <OutputType kType>
HWY_INLINE void decode_aligned(const Job& job, std::int64_t begin, std::int64_t end, float* even,
                               float* odd) {
  alignas(64) float table[kCodes];
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t block = i >> job.block_shift;
    const std::int64_t stop = std::min(end, (block + 1) << job.block_shift);
    build_table<kType>(block_scale(job, block), table);
    const std::int64_t at = (i - begin) / 2;
    decode_bytes(job.packed + i / 2, (stop - i) / 2, table, even + at, odd + at);
    if (stop % 2 != 0) even[(stop - 1 - begin) / 2] = table[job.packed[stop / 2] >> 4];
    i = stop;
  }
}

// The same where rows may begin in the middle of a byte: one weight at a time.
template <OutputType kType>
HWY_INLINE void decode_singly(const Job& job, std::int64_t begin, std::int64_t end, float* even,
                              float* odd) {
  alignas(64) float table[kCodes];
  std::int64_t known = -1;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t block = i >> job.block_shift;
    if (block != known) build_table<kType>(block_scale(job, block), table);
    known = block;
    const int pair = job.packed[i / 2];
    const float weight = table[i % 2 == 0 ? pair >> 4 : pair & 15];
    ((i - begin) % 2 == 0 ? even : odd)[(i - begin) / 2] = weight;
  }
}

// Inputs [first, first + count) of row `n` of W into row `slot`.
template <OutputType kType>
HWY_INLINE void decode_row(const Job& job, std::int64_t n, Range inputs, float* even, float* odd) {
  const std::int64_t begin = n * job.inputs + inputs.first;
  const std::int64_t end = n * job.inputs + inputs.last;
  const std::int64_t half = (end - begin + 1) / 2;
  std::fill_n(even + half - 1, kCodes + 1, 0.0f);
  std::fill_n(odd + half - 1, kCodes + 1, 0.0f);
  if (begin % 2 == 0) {
    decode_aligned<kType>(job, begin, end, even, odd);
  } else {
    decode_singly<kType>(job, begin, end, even, odd);
  }
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
  ProductScratch& scratch = product_scratch();
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
      output[(tokens.first + m) * job.outputs + rows.first + n] =
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
      output[m * job.outputs + n] = finish_output<kType>(job, n, sums.total(m));
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
    if (begin % 2 == 0) {
      decode_aligned<kType>(job, begin, begin + job.inputs, w, w + half);
    } else {
      decode_singly<kType>(job, begin, begin + job.inputs, w, w + half);
    }
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

ProductScratch& product_scratch() {
  thread_local ProductScratch scratch;
  return scratch;
}

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
