// How vectors decode weights. Part of simd_product.cpp and simd_transposed.cpp; like these it is
// compiled once for each instruction set, hence the unusual guard.
//
// A block has 16 weights, one for each code, that fit into one or two vectors: decoding is one look
// up in registers. A byte holds the codes of an even and of the next odd weight, so that a vector
// of bytes gives two vectors of weights, of even and of odd places.

#if defined(NF4BENCH_SIMD_WEIGHTS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef NF4BENCH_SIMD_WEIGHTS_INL_HPP
#undef NF4BENCH_SIMD_WEIGHTS_INL_HPP
#else
#define NF4BENCH_SIMD_WEIGHTS_INL_HPP
#endif

#include "cpu/job_parts.hpp"
#include "variant.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace nf4bench::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kCodes>;
using Vector = hn::Vec<Floats>;

// Tokens that are multiplied at once, in registers.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
constexpr int kTokens = 2;  // of 16 registers
#else
constexpr int kTokens = 4;
#endif

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

// Weights [begin, end), where those of even places stand in the high halves of bytes.
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

// The same where they begin in the middle of a byte: one weight at a time.
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

// Weights [begin, end) of all that lie in memory, those of even places from `begin` on apart.
template <OutputType kType>
HWY_INLINE void decode_split(const Job& job, std::int64_t begin, std::int64_t end, float* even,
                             float* odd) {
  if (begin % 2 == 0) {
    decode_aligned<kType>(job, begin, end, even, odd);
  } else {
    decode_singly<kType>(job, begin, end, even, odd);
  }
}

}  // namespace
}  // namespace nf4bench::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NF4BENCH_SIMD_WEIGHTS_INL_HPP
