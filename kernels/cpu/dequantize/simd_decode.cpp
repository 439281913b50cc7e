// The vector code of `simd`, compiled once for each instruction set and chosen at run time.
//
// Under one scale a code has one output, so 16 outputs make a table, kept as byte planes. Decoding
// is a byte shuffle a plane and interleaves that put the bytes of an output side by side.

#include "cpu/dequantize/simd_decode.hpp"

#include "cpu/dequantize/planes.hpp"
#include "cpu/simd_target.hpp"
#include "nf4/arithmetic.hpp"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/dequantize/simd_decode.cpp"
// clang-format off
#include <hwy/foreach_target.h>  // must precede highway.h
#include <hwy/highway.h>
#include "cpu/dequantize/simd_planes-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace nf4bench::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Blocks whose tables are built before the first is used, so that the stores that made a table are
// long done when it is loaded. Divides the 256 blocks that share a nested absmax.
constexpr std::int64_t kBatch = 32;

#if HWY_TARGET == HWY_SCALAR

template <OutputType kType, std::size_t kVector>
HWY_INLINE std::int64_t decode_vectors(const std::uint8_t*, std::int64_t, std::int64_t,
                                       const Planes<kType>*, std::uint8_t*) {
  return 0;
}

#else

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

// A block's planes, each repeated in all lanes.
template <OutputType kType, class D8>
struct Tables {
  hn::Vec<D8> plane[4];

  HWY_INLINE explicit Tables(const Planes<kType>& planes)
      : plane{hn::LoadDup128(D8(), planes.bytes[0]), hn::LoadDup128(D8(), planes.bytes[1]),
              hn::LoadDup128(D8(), planes.bytes[kThird]),
              hn::LoadDup128(D8(), planes.bytes[kLast])} {}

  static constexpr std::size_t kLast = Planes<kType>::kPlanes - 1;
  static constexpr std::size_t kThird = std::min<std::size_t>(2, kLast);
};

// Stores the outputs of one vector of codes, which are spread so that part p of lane l becomes part
// p * lanes + l of the outputs.
template <OutputType kType, class D8, class V = hn::Vec<D8>>
HWY_INLINE std::uint8_t* decode_codes(D8 d8, V codes, const Tables<kType, D8>& tables,
                                      std::uint8_t* output) {
  const std::size_t size = hn::Lanes(d8);
  const V byte0 = hn::TableLookupBytes(tables.plane[0], codes);
  const V byte1 = hn::TableLookupBytes(tables.plane[1], codes);
  const V low01 = hn::InterleaveLower(d8, byte0, byte1);
  const V high01 = hn::InterleaveUpper(d8, byte0, byte1);
  if constexpr (kType != OutputType::kFloat32) {
    hn::Stream(low01, d8, output);
    hn::Stream(high01, d8, output + size);
    return output + 2 * size;
  } else {
    const hn::RepartitionToWide<D8> d16;
    const V byte2 = hn::TableLookupBytes(tables.plane[2], codes);
    const V byte3 = hn::TableLookupBytes(tables.plane[3], codes);
    const auto low01_16 = hn::BitCast(d16, low01);
    const auto high01_16 = hn::BitCast(d16, high01);
    const auto low23 = hn::BitCast(d16, hn::InterleaveLower(d8, byte2, byte3));
    const auto high23 = hn::BitCast(d16, hn::InterleaveUpper(d8, byte2, byte3));
    const auto put = [&](std::size_t part, auto words)
                         HWY_ATTR { hn::Stream(hn::BitCast(d8, words), d8, output + part * size); };
    put(0, hn::InterleaveLower(d16, low01_16, low23));
    put(1, hn::InterleaveUpper(d16, low01_16, low23));
    put(2, hn::InterleaveLower(d16, high01_16, high23));
    put(3, hn::InterleaveUpper(d16, high01_16, high23));
    return output + 4 * size;
  }
}

// Decodes the whole vectors of kVector bytes or less in `count` elements and returns how many
// elements those are. A vector's first half belongs to one block and its second half to the next
// where it is as long as two blocks; else both belong to the one block that there is.
template <OutputType kType, std::size_t kVector>
HWY_INLINE std::int64_t decode_vectors(const std::uint8_t* packed, std::int64_t count,
                                       std::int64_t blocksize, const Planes<kType>* planes,
                                       std::uint8_t* output) {
  using D8 = hn::CappedTag<std::uint8_t, kVector>;
  using V = hn::Vec<D8>;
  const D8 d8;
  const auto elements = static_cast<std::int64_t>(2 * hn::Lanes(d8));
  const std::int64_t vectors = count / elements;
  const std::int64_t next = elements > blocksize ? 1 : 0;
  const auto by_word = Spread<D8>::indices(1);
  const auto by_pair = Spread<D8>::indices(2);
  const V low_nibble = hn::Set(d8, std::uint8_t{15});
  for (std::int64_t i = 0; i < vectors; ++i, packed += hn::Lanes(d8)) {
    const std::int64_t block = i * elements / blocksize;
    V bytes = hn::LoadU(d8, packed);
    bytes = Spread<D8>::apply(bytes, kType == OutputType::kFloat32 ? by_pair : by_word);
    const V high = hn::ShiftRight<4>(bytes);
    const V low = hn::And(bytes, low_nibble);
    V codes = hn::InterleaveLower(d8, high, low);
    if constexpr (kType == OutputType::kFloat32) codes = Spread<D8>::apply(codes, by_word);
    output = decode_codes<kType>(d8, codes, Tables<kType, D8>(planes[block]), output);
    codes = hn::InterleaveUpper(d8, high, low);
    if constexpr (kType == OutputType::kFloat32) codes = Spread<D8>::apply(codes, by_word);
    output = decode_codes<kType>(d8, codes, Tables<kType, D8>(planes[block + next]), output);
  }
  return vectors * elements;
}

#endif  // HWY_TARGET

// The scales of `blocks`, at most kBatch of them and all under one nested absmax.
HWY_INLINE void load_scales(const Job& job, Range blocks, float* scales) {
  const std::int64_t count = blocks.last - blocks.first;
  if (!job.nested) {
    std::memcpy(scales, job.absmax + blocks.first, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  const std::uint8_t* codes = job.absmax_codes + blocks.first;
  const float absmax = job.nested_absmax[blocks.first / kNestedBlocksize];
  const float offset = *job.nested_offset;
  for (std::int64_t i = 0; i < count; ++i) scales[i] = job.nested_map[codes[i]];
  for (std::int64_t i = 0; i < count; ++i) scales[i] = nf4::nested_scale(scales[i], absmax, offset);
}

template <OutputType kType, std::size_t kVector>
HWY_INLINE void decode_batch(const Job& job, Range blocks) {
  alignas(64) float scales[kBatch];
  alignas(64) Planes<kType> planes[kBatch];
  load_scales(job, blocks, scales);
  const std::int64_t batch = blocks.last - blocks.first;
  for (std::int64_t i = 0; i < batch; ++i) build_planes<kType>(scales[i], planes[i]);

  constexpr auto kSize = static_cast<std::int64_t>(size_in_bytes(kType));
  const std::int64_t blocksize = std::int64_t{1} << job.block_shift;
  const std::int64_t begin = blocks.first * blocksize;
  const std::int64_t count = std::min(batch * blocksize, job.elements - begin);
  const std::uint8_t* packed = job.packed + begin / 2;
  auto* const output = static_cast<std::uint8_t*>(job.output) + begin * kSize;
  std::int64_t done = decode_vectors<kType, kVector>(packed, count, blocksize, planes, output);
  while (done < count) {
    const std::int64_t block = done >> job.block_shift;
    const std::int64_t end = std::min(count, (block + 1) * blocksize);
    decode_singly<kType>(packed + done / 2, end - done, planes[block], output + done * kSize);
    done = end;
  }
}

template <OutputType kType, std::size_t kVector>
void decode_range(const Job& job, Range blocks) {
  for (std::int64_t first = blocks.first; first < blocks.last;) {
    // Batches end at multiples of their size, so that none straddles two nested absmax.
    const std::int64_t last = std::min((first / kBatch + 1) * kBatch, blocks.last);
    decode_batch<kType, kVector>(job, {first, last});
    first = last;
  }
}

template <OutputType kType>
void decode_type(const Job& job, Range blocks) {
  constexpr std::size_t kWidest = HWY_MAX_BYTES;
  // Vectors can only go around the caches to where they are aligned.
  if (reinterpret_cast<std::uintptr_t>(job.output) % kWidest != 0) {
    return decode_range<kType, std::min<std::size_t>(16, kWidest)>(job, blocks);
  }
  if (job.block_shift == 5) {
    return decode_range<kType, std::min<std::size_t>(32, kWidest)>(job, blocks);
  }
  decode_range<kType, std::min<std::size_t>(64, kWidest)>(job, blocks);
}

void decode(const Job& job, Range blocks) {
  switch (job.output_type) {
    case OutputType::kFloat16:
      return decode_type<OutputType::kFloat16>(job, blocks);
    case OutputType::kBfloat16:
      return decode_type<OutputType::kBfloat16>(job, blocks);
    case OutputType::kFloat32:
      return decode_type<OutputType::kFloat32>(job, blocks);
  }
}

const char* target_name() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace
}  // namespace nf4bench::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nf4bench::kernels::cpu {

HWY_EXPORT(decode);
HWY_EXPORT(target_name);

void decode_blocks(const Job& job, Range blocks) {
  HWY_DYNAMIC_DISPATCH(decode)(job, blocks);
  hwy::FlushStream();  // what was stored is visible to other threads from here on
}

const char* simd_target() {
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

}  // namespace nf4bench::kernels::cpu
#endif  // HWY_ONCE
