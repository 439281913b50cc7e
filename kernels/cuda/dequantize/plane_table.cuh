#pragma once

// The 16 finished outputs of a block as byte planes: byte b of all 16 values in four registers, so
// that prmt, which picks four bytes out of eight by four 4-bit selectors, looks up four nibbles of
// one plane with two reads and a choice. No shared memory, no multiplication and no rounding is
// left per element; the table costs 16 of each once a block.

#include "cuda/dequantize/unit.cuh"
#include "cuda/ptx.cuh"

namespace nf4bench::kernels::cuda {

// How to look up the four nibbles in the low half of `word` (upper half: shift both by 16).
struct Selectors {
  std::uint32_t entry;  // low three bits of each nibble: which byte of a register pair
  std::uint32_t half;   // bit 3: which of the two pairs
};

__device__ __forceinline__ Selectors selectors_of(std::uint32_t word) {
  // prmt reads bit 3 of a selector as "replicate the sign", so that it must be cleared.
  return {word & 0x77777777u, and_or(word >> 1, 0x44444444u, 0x32103210u)};
}

template <OutputType kType>
class PlaneTable {
 public:
  static constexpr int kPlanes = static_cast<int>(size_in_bytes(kType));

  __device__ __forceinline__ explicit PlaneTable(float scale) {
    float values[kCodes];
#pragma unroll
    for (int i = 1; i < kCodes; ++i) values[i] = multiply_flushed(codebook_value(i), scale);
    static_assert(codebook_value(0) == -codebook_value(kCodes - 1));
    values[0] = -values[kCodes - 1];
    if constexpr (kType == OutputType::kFloat32) {
#pragma unroll
      for (int four = 0; four < 4; ++four) split_float32(values, four);
    } else {
#pragma unroll
      for (int four = 0; four < 4; ++four) split_16bit(values, four);
    }
  }

  // Plane `plane` of the four nibbles that the selectors' low halves name, in nibble order.
  __device__ __forceinline__ std::uint32_t lookup(int plane, Selectors selectors) const {
    const std::uint32_t low = permute(planes_[plane][0], planes_[plane][1], selectors.entry);
    const std::uint32_t high = permute(planes_[plane][2], planes_[plane][3], selectors.entry);
    return permute(low, high, selectors.half);
  }

 private:
  __device__ __forceinline__ void split_16bit(const float (&values)[kCodes], int four) {
    constexpr auto pack = kType == OutputType::kFloat16 ? pack_float16 : pack_bfloat16;
    const std::uint32_t first = pack(values[4 * four], values[4 * four + 1]);
    const std::uint32_t second = pack(values[4 * four + 2], values[4 * four + 3]);
    planes_[0][four] = permute(first, second, 0x6420);
    planes_[1][four] = permute(first, second, 0x7531);
  }

  __device__ __forceinline__ void split_float32(const float (&values)[kCodes], int four) {
    const std::uint32_t a = __float_as_uint(values[4 * four]);
    const std::uint32_t b = __float_as_uint(values[4 * four + 1]);
    const std::uint32_t c = __float_as_uint(values[4 * four + 2]);
    const std::uint32_t d = __float_as_uint(values[4 * four + 3]);
    const std::uint32_t ab_low = permute(a, b, 0x5140);   // a0 b0 a1 b1
    const std::uint32_t ab_high = permute(a, b, 0x7362);  // a2 b2 a3 b3
    const std::uint32_t cd_low = permute(c, d, 0x5140);
    const std::uint32_t cd_high = permute(c, d, 0x7362);
    planes_[0][four] = permute(ab_low, cd_low, 0x5410);
    planes_[1][four] = permute(ab_low, cd_low, 0x7632);
    planes_[2][four] = permute(ab_high, cd_high, 0x5410);
    planes_[3][four] = permute(ab_high, cd_high, 0x7632);
  }

  std::uint32_t planes_[kPlanes][4];
};

// The 16 output bytes of the unit of 16-bit elements in `word`.
template <OutputType kType>
__device__ __forceinline__ uint4 decode_word_16bit(const PlaneTable<kType>& table,
                                                   std::uint32_t word) {
  Selectors selectors = selectors_of(word);
  std::uint32_t result[4];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::uint32_t low = table.lookup(0, selectors);
    const std::uint32_t high = table.lookup(1, selectors);
    result[2 * half] = permute(low, high, 0x4051);  // nibble 1 is the first element
    result[2 * half + 1] = permute(low, high, 0x6273);
    selectors = {selectors.entry >> 16, selectors.half >> 16};
  }
  return make_uint4(result[0], result[1], result[2], result[3]);
}

// The 16 output bytes of the four float32 elements that the selectors' low halves name.
__device__ __forceinline__ uint4 decode_half_float32(const PlaneTable<OutputType::kFloat32>& table,
                                                     Selectors selectors) {
  const std::uint32_t plane0 = table.lookup(0, selectors);
  const std::uint32_t plane1 = table.lookup(1, selectors);
  const std::uint32_t plane2 = table.lookup(2, selectors);
  const std::uint32_t plane3 = table.lookup(3, selectors);
  const std::uint32_t low_first = permute(plane0, plane1, 0x4051);   // low halves of elements 0, 1
  const std::uint32_t low_second = permute(plane0, plane1, 0x6273);  // of elements 2, 3
  const std::uint32_t high_first = permute(plane2, plane3, 0x4051);
  const std::uint32_t high_second = permute(plane2, plane3, 0x6273);
  return make_uint4(permute(low_first, high_first, 0x5410), permute(low_first, high_first, 0x7632),
                    permute(low_second, high_second, 0x5410),
                    permute(low_second, high_second, 0x7632));
}

}  // namespace nf4bench::kernels::cuda
