// The vector code of matmul's `simd`, compiled once for each instruction set and chosen at run
// time.
//
// A block has 16 weights, one for each code, that fit into one or two vectors: decoding is one look
// up in registers. A byte holds the codes of an even and of the next odd input, so that a vector of
// bytes gives two vectors of weights, for even and for odd inputs. A few rows of W are decoded
// stretch by stretch into a buffer that stays in the first cache; there they are multiplied with
// all tokens.

#include "cpu/matmul/simd_product.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

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

// Rows of W that are decoded together, each from so many bytes at a time.
constexpr std::int64_t kRows = 4;
constexpr std::int64_t kStretch = 1024;

// Weights of kRows rows, those of even and of odd inputs apart. Zero behind the end of a stretch,
// so that whole vectors may be read.
struct Decoded {
  alignas(64) float even[kRows][kStretch + kCodes];
  alignas(64) float odd[kRows][kStretch + kCodes];
};

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
  HWY_INLINE explicit Lookup(const float* table) : table_(table) {}

  // The entries that `codes` (0 to 15) name.
  template <class Codes>
  HWY_INLINE Vector operator()(Floats df, Codes codes) const {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(df, table_[hn::GetLane(codes)]);
#else
    const hn::RebindToSigned<Floats> di;
    const auto index = hn::BitCast(di, codes);
    if (hn::Lanes(df) == kCodes) {
      return hn::TableLookupLanes(hn::Load(df, table_), hn::IndicesFromVec(df, index));
    }
    return hn::GatherIndex(df, table_, index);
#endif
  }

 private:
  const float* table_;
};

// Decodes `count` bytes under one table.
HWY_INLINE void decode_bytes(const std::uint8_t* packed, std::int64_t count, const float* table,
                             float* even, float* odd) {
  const Floats df;
  const hn::RebindToUnsigned<Floats> du;
  const hn::Rebind<std::uint8_t, Floats> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const Lookup lookup(table);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bytes = hn::PromoteTo(du, hn::LoadU(d8, packed + i));
    hn::StoreU(lookup(df, hn::ShiftRight<4>(bytes)), df, even + i);
    hn::StoreU(lookup(df, hn::And(bytes, hn::Set(du, 15u))), df, odd + i);
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
template <int kTokens>
HWY_INLINE void add_products(const Decoded& w, const SplitTokens& x, std::int64_t half, float* sums,
                             std::int64_t stride) {
  const Floats df;
  Vector total[kRows][kTokens];
  for (auto& row : total) {
    for (Vector& each : row) each = hn::Zero(df);
  }
  const auto add = [&](const float(&weights)[kRows][kStretch + kCodes], const float* tokens,
                       std::int64_t i) HWY_ATTR {
    Vector v[kTokens];
    for (int m = 0; m < kTokens; ++m) v[m] = hn::LoadU(df, tokens + m * x.stride + i);
    for (int n = 0; n < kRows; ++n) {
      const Vector weight = hn::Load(df, weights[n] + i);
      for (int m = 0; m < kTokens; ++m) total[n][m] = hn::MulAdd(weight, v[m], total[n][m]);
    }
  };
  for (std::int64_t i = 0; i < half; i += static_cast<std::int64_t>(hn::Lanes(df))) {
    add(w.even, x.even, i);
    add(w.odd, x.odd, i);
  }
  for (int n = 0; n < kRows; ++n) {
    for (int m = 0; m < kTokens; ++m) {
      sums[n * stride + m] += hn::GetLane(hn::SumOfLanes(df, total[n][m]));
    }
  }
}

// All tokens, four at a time.
HWY_INLINE void add_all_products(const Decoded& w, const SplitTokens& x, Range stretch,
                                 std::vector<float>& sums) {
  const auto tokens = static_cast<std::int64_t>(sums.size()) / kRows;
  const std::int64_t half = (stretch.last - stretch.first + 1) / 2;
  for (std::int64_t m = 0; m < tokens;) {
    const std::int64_t at = m * x.stride + stretch.first / 2;
    const SplitTokens from = {.even = x.even + at, .odd = x.odd + at, .stride = x.stride};
    if (m + 4 <= tokens) {
      add_products<4>(w, from, half, sums.data() + m, tokens);
      m += 4;
    } else {
      add_products<1>(w, from, half, sums.data() + m, tokens);
      m += 1;
    }
  }
}

template <OutputType kType>
HWY_INLINE void multiply_type(const Job& job, const SplitTokens& x, Range rows) {
  Decoded w = {};
  std::vector<float> sums(static_cast<std::size_t>(kRows * job.tokens));
  auto* const output = static_cast<OutputBits<kType>*>(job.output);
  for (std::int64_t first = rows.first; first < rows.last; first += kRows) {
    const std::int64_t count = std::min(kRows, rows.last - first);
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (std::int64_t k = 0; k < job.inputs; k += 2 * kStretch) {
      const Range stretch = {k, std::min(k + 2 * kStretch, job.inputs)};
      for (std::int64_t n = 0; n < count; ++n) {
        decode_row<kType>(job, first + n, stretch, w.even[n], w.odd[n]);
      }
      add_all_products(w, x, stretch, sums);
    }
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::int64_t m = 0; m < job.tokens; ++m) {
        output[m * job.outputs + first + n] =
            to_output_bits<kType>(sums[static_cast<std::size_t>(n * job.tokens + m)]);
      }
    }
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

}  // namespace
}  // namespace nf4bench::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nf4bench::kernels::cpu {
namespace {

HWY_EXPORT(multiply);

template <OutputType kType>
void split_token(const Job& job, std::int64_t token, float* even, float* odd) {
  const auto* x = static_cast<const OutputBits<kType>*>(job.input) + token * job.inputs;
  const std::int64_t stride = split_stride(job.inputs);
  std::fill_n(even, stride, 0.0f);
  std::fill_n(odd, stride, 0.0f);
  for (std::int64_t k = 0; k < job.inputs; ++k) {
    (k % 2 == 0 ? even : odd)[k / 2] = from_output_bits<kType>(x[k]);
  }
}

}  // namespace

std::int64_t split_stride(std::int64_t inputs) {
  return block_count(inputs, 2 * kCodes) * kCodes;
}

void split_tokens(const Job& job, Range range, float* even, float* odd) {
  for (std::int64_t m = range.first; m < range.last; ++m) {
    const std::int64_t at = m * split_stride(job.inputs);
    switch (job.output_type) {
      case OutputType::kFloat16:
        split_token<OutputType::kFloat16>(job, m, even + at, odd + at);
        break;
      case OutputType::kBfloat16:
        split_token<OutputType::kBfloat16>(job, m, even + at, odd + at);
        break;
      case OutputType::kFloat32:
        split_token<OutputType::kFloat32>(job, m, even + at, odd + at);
        break;
    }
  }
}

void multiply_rows(const Job& job, const SplitTokens& x, Range rows) {
  HWY_DYNAMIC_DISPATCH(multiply)(job, x, rows);
}

}  // namespace nf4bench::kernels::cpu
#endif  // HWY_ONCE
