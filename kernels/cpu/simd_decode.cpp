// The vector code of `simd`, compiled once for each instruction set and chosen at run time.
//
// Under one scale a code has one output, so 16 outputs make a table. It is kept as byte planes:
// plane p holds byte p of the 16 outputs, which is what one byte shuffle looks up. Decoding is then
// a shuffle a plane and interleaves that put the bytes of an output side by side.

#include "simd_decode.hpp"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

#include "nf4/arithmetic.hpp"
#include "simd_target.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_decode.cpp"
#include <hwy/foreach_target.h>  // must precede highway.h

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace nf4bench::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Blocks whose tables are built before the first is used: while one block is decoded, the stores
// that made its table are long done.
constexpr std::int64_t kBatch = 32;

template <OutputType kType>
struct alignas(16) Planes {
  static constexpr std::size_t kPlanes = size_in_bytes(kType);
  std::uint8_t bytes[kPlanes][kCodes];

  void set(int code, OutputBits<kType> bits) {
    for (std::size_t p = 0; p < kPlanes; ++p) {
      bytes[p][code] = static_cast<std::uint8_t>(bits >> (8 * p));
    }
  }
  OutputBits<kType> get(int code) const {
    std::uint32_t bits = 0;
    for (std::size_t p = 0; p < kPlanes; ++p) bits |= std::uint32_t{bytes[p][code]} << (8 * p);
    return static_cast<OutputBits<kType>>(bits);
  }
};

// Any scale, zero, subnormal and NaN included.
template <OutputType kType>
HWY_INLINE void build_planes_exactly(float scale, Planes<kType>& planes) {
  for (int code = 0; code < kCodes; ++code) {
    planes.set(code, to_output_bits<kType>(multiply_flushed(kCodebook[code], scale)));
  }
}

// `count` elements from the start of `packed`, one at a time.
template <OutputType kType>
HWY_INLINE void decode_singly(const std::uint8_t* packed, std::int64_t count,
                              const Planes<kType>& planes, std::uint8_t* output) {
  for (std::int64_t i = 0; i < count; ++i) {
    const int pair = packed[i / 2];
    const OutputBits<kType> bits = planes.get(i % 2 == 0 ? pair >> 4 : pair & 15);
    std::memcpy(output + i * static_cast<std::int64_t>(sizeof(bits)), &bits, sizeof(bits));
  }
}

#if HWY_TARGET == HWY_SCALAR

template <OutputType kType>
HWY_INLINE void build_planes(float scale, Planes<kType>& planes) {
  build_planes_exactly<kType>(scale, planes);
}

template <OutputType kType, std::size_t kMaxBytes, Stores kStores>
HWY_INLINE void decode_block(const std::uint8_t* packed, std::int64_t count,
                             const Planes<kType>& planes, std::uint8_t* output) {
  decode_singly<kType>(packed, count, planes, output);
}

#else

// Normal numbers rounded to the output type, in the low bits of each lane.
template <OutputType kType, class D, class V = hn::Vec<D>>
HWY_INLINE V round_normal(D d, V bits) {
  if constexpr (kType == OutputType::kBfloat16) {
    const V odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
    return hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd));
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

template <OutputType kType>
HWY_INLINE void build_planes(float scale, Planes<kType>& planes) {
  // From 2^-122 on no product with a code is subnormal; below infinity none is NaN or infinite.
  const std::uint32_t magnitude = bits_of(scale) & 0x7fffffffu;
  if (magnitude < 0x02800000u || magnitude >= 0x7f800000u) {
    return build_planes_exactly<kType>(scale, planes);
  }
  const hn::CappedTag<float, kCodes> df;
  const hn::RebindToSigned<decltype(df)> d;
  const hn::RebindToUnsigned<decltype(df)> du;
  const hn::Rebind<std::uint8_t, decltype(df)> d8;
  for (std::size_t i = 0; i < kCodes; i += hn::Lanes(df)) {
    const auto products = hn::Mul(hn::LoadU(df, kCodebook + i), hn::Set(df, scale));
    const auto rounded = hn::BitCast(du, round_normal<kType>(d, hn::BitCast(d, products)));
    hn::StoreU(hn::TruncateTo(d8, rounded), d8, planes.bytes[0] + i);
    hn::StoreU(hn::TruncateTo(d8, hn::ShiftRight<8>(rounded)), d8, planes.bytes[1] + i);
    if constexpr (kType == OutputType::kFloat32) {
      hn::StoreU(hn::TruncateTo(d8, hn::ShiftRight<16>(rounded)), d8, planes.bytes[2] + i);
      hn::StoreU(hn::TruncateTo(d8, hn::ShiftRight<24>(rounded)), d8, planes.bytes[3] + i);
    }
  }
}

// Interleaves work within lanes of 16 bytes, so that what is interleaved must be spread over the
// lanes first. Lane l receives the pieces l, l + lanes, ... of the vector.
template <class D8>
struct Spread {
  using D32 = hn::RepartitionToWide<hn::RepartitionToWide<D8>>;
  static constexpr D32 d32{};
  using Indices = decltype(hn::SetTableIndices(D32(), static_cast<const std::int32_t*>(nullptr)));

  // `words` is the size of a piece in words of 4 bytes: 1 or 2.
  HWY_INLINE static Indices indices(int words) {
    alignas(64) std::int32_t from[HWY_MAX_BYTES / 4];
    const int lanes = static_cast<int>(hn::Lanes(d32)) / 4;
    for (int word = 0; word < 4 * lanes; ++word) {
      const int lane = word / 4;
      const int piece = word % 4 / words;
      from[word] = (piece * lanes + lane) * words + word % words;
    }
    return hn::SetTableIndices(D32(), from);
  }

  HWY_INLINE static hn::Vec<D8> apply(hn::Vec<D8> bytes, Indices indices) {
    if (hn::Lanes(d32) == 4) return bytes;
    return hn::BitCast(D8(), hn::TableLookupLanes(hn::BitCast(D32(), bytes), indices));
  }
};

template <Stores kStores, class D8>
HWY_INLINE void store(hn::Vec<D8> bytes, D8 d8, std::uint8_t* output) {
  if constexpr (kStores == Stores::kStreaming) {
    hn::Stream(bytes, d8, output);
  } else {
    hn::StoreU(bytes, d8, output);
  }
}

// Stores the outputs of one vector of codes, which are spread so that part p of lane l becomes part
// p * lanes + l of the outputs.
template <OutputType kType, Stores kStores, class D8, class V = hn::Vec<D8>>
HWY_INLINE std::uint8_t* decode_codes(D8 d8, V codes, const V (&planes)[4], std::uint8_t* output) {
  const std::size_t size = hn::Lanes(d8);
  const V byte0 = hn::TableLookupBytes(planes[0], codes);
  const V byte1 = hn::TableLookupBytes(planes[1], codes);
  const V low01 = hn::InterleaveLower(d8, byte0, byte1);
  const V high01 = hn::InterleaveUpper(d8, byte0, byte1);
  if constexpr (kType != OutputType::kFloat32) {
    store<kStores>(low01, d8, output);
    store<kStores>(high01, d8, output + size);
    return output + 2 * size;
  } else {
    const hn::RepartitionToWide<D8> d16;
    const V byte2 = hn::TableLookupBytes(planes[2], codes);
    const V byte3 = hn::TableLookupBytes(planes[3], codes);
    const auto low01_16 = hn::BitCast(d16, low01);
    const auto high01_16 = hn::BitCast(d16, high01);
    const auto low23 = hn::BitCast(d16, hn::InterleaveLower(d8, byte2, byte3));
    const auto high23 = hn::BitCast(d16, hn::InterleaveUpper(d8, byte2, byte3));
    const auto put = [&](std::size_t part, auto words) HWY_ATTR {
      store<kStores>(hn::BitCast(d8, words), d8, output + part * size);
    };
    put(0, hn::InterleaveLower(d16, low01_16, low23));
    put(1, hn::InterleaveUpper(d16, low01_16, low23));
    put(2, hn::InterleaveLower(d16, high01_16, high23));
    put(3, hn::InterleaveUpper(d16, high01_16, high23));
    return output + 4 * size;
  }
}

// `count` elements of one block. Vectors hold at most kMaxBytes, half a block's elements.
template <OutputType kType, std::size_t kMaxBytes, Stores kStores>
HWY_INLINE void decode_block(const std::uint8_t* packed, std::int64_t count,
                             const Planes<kType>& planes, std::uint8_t* output) {
  using D8 = hn::CappedTag<std::uint8_t, kMaxBytes>;
  using V = hn::Vec<D8>;
  constexpr std::size_t kLast = Planes<kType>::kPlanes - 1;
  const D8 d8;
  const std::size_t size = hn::Lanes(d8);
  const V loaded[4] = {hn::LoadDup128(d8, planes.bytes[0]), hn::LoadDup128(d8, planes.bytes[1]),
                       hn::LoadDup128(d8, planes.bytes[std::min<std::size_t>(2, kLast)]),
                       hn::LoadDup128(d8, planes.bytes[kLast])};
  const auto by_word = Spread<D8>::indices(1);
  const auto by_pair = Spread<D8>::indices(2);
  const V low_nibble = hn::Set(d8, std::uint8_t{15});
  const auto whole = static_cast<std::int64_t>(2 * size);
  for (; count >= whole; count -= whole, packed += size) {
    V bytes = hn::LoadU(d8, packed);
    if constexpr (kType == OutputType::kFloat32) {
      bytes = Spread<D8>::apply(bytes, by_pair);
    } else {
      bytes = Spread<D8>::apply(bytes, by_word);
    }
    const V high = hn::ShiftRight<4>(bytes);
    const V low = hn::And(bytes, low_nibble);
    V codes[2] = {hn::InterleaveLower(d8, high, low), hn::InterleaveUpper(d8, high, low)};
    for (V& half : codes) {
      if constexpr (kType == OutputType::kFloat32) half = Spread<D8>::apply(half, by_word);
      output = decode_codes<kType, kStores>(d8, half, loaded, output);
    }
  }
  decode_singly<kType>(packed, count, planes, output);
}

#endif  // HWY_TARGET

template <OutputType kType, std::size_t kMaxBytes, Stores kStores>
void decode_range(const Job& job, Range blocks) {
  const std::int64_t blocksize = std::int64_t{1} << job.block_shift;
  auto* const output = static_cast<std::uint8_t*>(job.output);
  Planes<kType> planes[kBatch];
  for (std::int64_t first = blocks.first; first < blocks.last; first += kBatch) {
    const std::int64_t last = std::min(first + kBatch, blocks.last);
    for (std::int64_t block = first; block < last; ++block) {
      build_planes<kType>(block_scale(job, block), planes[block - first]);
    }
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t begin = block * blocksize;
      decode_block<kType, kMaxBytes, kStores>(
          job.packed + begin / 2, std::min(blocksize, job.elements - begin), planes[block - first],
          output + begin * static_cast<std::int64_t>(size_in_bytes(kType)));
    }
  }
}

template <OutputType kType, Stores kStores>
void decode_type(const Job& job, Range blocks) {
  constexpr std::size_t kWidest = HWY_MAX_BYTES;
  if (job.block_shift == 5) return decode_range<kType, 16, kStores>(job, blocks);
  if (job.block_shift == 6) {
    return decode_range<kType, std::min<std::size_t>(32, kWidest), kStores>(job, blocks);
  }
  decode_range<kType, std::min<std::size_t>(64, kWidest), kStores>(job, blocks);
}

template <Stores kStores>
void decode_stores(const Job& job, Range blocks) {
  switch (job.output_type) {
    case OutputType::kFloat16:
      return decode_type<OutputType::kFloat16, kStores>(job, blocks);
    case OutputType::kBfloat16:
      return decode_type<OutputType::kBfloat16, kStores>(job, blocks);
    case OutputType::kFloat32:
      return decode_type<OutputType::kFloat32, kStores>(job, blocks);
  }
}

void decode(const Job& job, Range blocks, Stores stores) {
  if (stores == Stores::kCached) return decode_stores<Stores::kCached>(job, blocks);
  decode_stores<Stores::kStreaming>(job, blocks);
}

const char* target_name() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace
}  // namespace nf4bench::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nf4bench::cpu {

HWY_EXPORT(decode);
HWY_EXPORT(target_name);

void decode_blocks(const Job& job, Range blocks, Stores stores) {
  HWY_DYNAMIC_DISPATCH(decode)(job, blocks, stores);
  if (stores == Stores::kStreaming) hwy::FlushStream();  // visible to others before we say so
}

const char* simd_target() {
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

}  // namespace nf4bench::cpu
#endif  // HWY_ONCE
