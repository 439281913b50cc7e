// How vectors fill the planes of a block. Part of simd_decode.cpp, in a file of its own for size;
// like it, it is compiled once for each instruction set, hence the unusual guard.

#if defined(NF4BENCH_SIMD_PLANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef NF4BENCH_SIMD_PLANES_INL_HPP
#undef NF4BENCH_SIMD_PLANES_INL_HPP
#else
#define NF4BENCH_SIMD_PLANES_INL_HPP
#endif

#include "cpu/dequantize/planes.hpp"
#include "nf4/arithmetic.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace nf4bench::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

template <OutputType kType>
HWY_INLINE void build_planes(float scale, Planes<kType>& planes) {
  build_planes_exactly<kType>(scale, planes);
}

#else

// Products that are zero or normal numbers, rounded to the output type. The result stands in the
// lowest bytes of each lane, for bfloat16 in the highest.
template <OutputType kType, class D, class V = hn::Vec<D>>
HWY_INLINE V round_product(D d, V bits) {
  if constexpr (kType == OutputType::kBfloat16) {
    const V odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
    return hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd);
  } else if constexpr (kType == OutputType::kFloat16) {
    const V magnitude = hn::And(bits, hn::Set(d, 0x7fffffff));
    const V sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000));
    // Rebiased and rounded by a carry; what is too large ends at the pattern of infinity.
    const V limited = hn::Min(magnitude, hn::Set(d, 0x47800000));
    const V odd = hn::And(hn::ShiftRight<13>(limited), hn::Set(d, 1));
    const V carried = hn::Add(hn::Add(limited, hn::Set(d, 0xfff - 0x38000000)), odd);
    const V normal = hn::ShiftRight<13>(carried);
    // Added to 0.5, whose last place is 2^-24, the addition itself rounds to binary16 subnormals.
    const hn::RebindToFloat<D> df;
    const V shifted = hn::BitCast(d, hn::Add(hn::BitCast(df, magnitude), hn::Set(df, 0.5f)));
    const V subnormal = hn::Sub(shifted, hn::Set(d, 0x3f000000));
    const auto is_small = hn::Lt(magnitude, hn::Set(d, 0x38800000));
    return hn::Or(sign, hn::IfThenElse(is_small, subnormal, normal));
  } else {
    return bits;
  }
}

// Writes the planes of `lanes` outputs, from code `first` on.
template <OutputType kType, class D, class V = hn::Vec<D>>
HWY_INLINE void store_planes(D, V rounded, std::size_t first, Planes<kType>& planes) {
  constexpr int kLowest = kType == OutputType::kBfloat16 ? 2 : 0;
  const hn::Rebind<std::uint8_t, D> d8;
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, rounded);
  const auto put = [&](auto plane_bits, std::size_t plane) HWY_ATTR {
    hn::StoreU(hn::TruncateTo(d8, plane_bits), d8, planes.bytes[plane] + first);
  };
  put(hn::ShiftRight<8 * kLowest>(bits), 0);
  put(hn::ShiftRight<8 * kLowest + 8>(bits), 1);
  if constexpr (kType == OutputType::kFloat32) {
    put(hn::ShiftRight<16>(bits), 2);
    put(hn::ShiftRight<24>(bits), 3);
  }
}

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
// With all 16 outputs in one vector, a transposition of bytes puts a plane into each lane.
template <OutputType kType>
HWY_INLINE void store_planes(hn::Full512<std::int32_t> d, hn::Vec512<std::int32_t> rounded,
                             std::size_t, Planes<kType>& planes) {
  constexpr int k = kType == OutputType::kBfloat16 ? 2 : 0;
  alignas(16) static constexpr std::uint8_t kBytes[16] = {
      k, k + 4, k + 8, k + 12, k + 1, k + 5, k + 9, k + 13, 2, 6, 10, 14, 3, 7, 11, 15};
  alignas(64) static constexpr std::int32_t kWords[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                          2, 6, 10, 14, 3, 7, 11, 15};
  const hn::Full512<std::uint8_t> d8;
  const auto grouped = hn::TableLookupBytes(hn::BitCast(d8, rounded), hn::LoadDup128(d8, kBytes));
  const auto transposed =
      hn::TableLookupLanes(hn::BitCast(d, grouped), hn::SetTableIndices(d, kWords));
  if constexpr (kType == OutputType::kFloat32) {
    hn::StoreU(hn::BitCast(d8, transposed), d8, planes.bytes[0]);
  } else {
    const hn::Half<hn::Full512<std::uint8_t>> half;
    hn::StoreU(hn::LowerHalf(half, hn::BitCast(d8, transposed)), half, planes.bytes[0]);
  }
}
#endif

template <OutputType kType>
HWY_INLINE void build_planes(float scale, Planes<kType>& planes) {
  // From 2^-122 on no product with a code is subnormal; below infinity none is NaN or infinite.
  const std::uint32_t magnitude = nf4::bits_of(scale) & 0x7fffffffu;
  if (magnitude < 0x02800000u || magnitude >= 0x7f800000u) {
    return build_planes_exactly<kType>(scale, planes);
  }
  const hn::CappedTag<float, kCodes> df;
  const hn::RebindToSigned<decltype(df)> d;
  for (std::size_t i = 0; i < kCodes; i += hn::Lanes(df)) {
    const auto products = hn::Mul(hn::LoadU(df, kCodebook + i), hn::Set(df, scale));
    store_planes<kType>(d, round_product<kType>(d, hn::BitCast(d, products)), i, planes);
  }
}

#endif  // HWY_TARGET

}  // namespace
}  // namespace nf4bench::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NF4BENCH_SIMD_PLANES_INL_HPP
