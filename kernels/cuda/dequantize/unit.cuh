#pragma once

// The unit of work: as many elements as one 16-byte store holds, and the packed bytes they come
// from. Blocks hold 32 elements or more, so a unit never straddles two.

#include "cuda/arithmetic.cuh"

#include <cstdint>

namespace nf4bench::kernels::cuda {

template <OutputType kType>
struct Unit {
  static constexpr int kElements = static_cast<int>(16 / size_in_bytes(kType));
  static constexpr int kShift = kElements == 8 ? 3 : 2;  // log2(kElements)
  static constexpr int kBytes = kElements / 2;           // packed
  using Packed = std::conditional_t<kElements == 8, std::uint32_t, std::uint16_t>;
};

// Bit position of element `i`'s nibble in a little-endian word: the high nibble comes first.
__device__ constexpr int nibble_shift(int i) {
  return (i ^ 1) * 4;
}

// Scales codebook values and rounds them: the 16 bytes of a unit's output.
template <OutputType kType>
__device__ __forceinline__ uint4 scale_unit(const float (&values)[Unit<kType>::kElements],
                                            float scale) {
  float scaled[Unit<kType>::kElements];
#pragma unroll
  for (int i = 0; i < Unit<kType>::kElements; ++i) scaled[i] = multiply_flushed(values[i], scale);
  if constexpr (kType == OutputType::kFloat32) {
    return make_uint4(__float_as_uint(scaled[0]), __float_as_uint(scaled[1]),
                      __float_as_uint(scaled[2]), __float_as_uint(scaled[3]));
  } else {
    constexpr auto pack = kType == OutputType::kFloat16 ? pack_float16 : pack_bfloat16;
    return make_uint4(pack(scaled[0], scaled[1]), pack(scaled[2], scaled[3]),
                      pack(scaled[4], scaled[5]), pack(scaled[6], scaled[7]));
  }
}

// Packed bytes of a unit that ends the tensor early, read one by one; missing ones are zero.
template <OutputType kType>
__device__ __forceinline__ std::uint32_t load_partial(const Job& job, std::int64_t unit) {
  std::uint32_t word = 0;
  for (int i = 0; i < Unit<kType>::kBytes; ++i) {
    const std::int64_t byte = unit * Unit<kType>::kBytes + i;
    if (byte < packed_bytes(job.elements)) word |= std::uint32_t{job.packed[byte]} << (8 * i);
  }
  return word;
}

// Writes the elements of a unit that lie inside the tensor, one by one.
template <OutputType kType>
__device__ __forceinline__ void store_partial(const Job& job, std::int64_t unit, uint4 values) {
  using Element = std::conditional_t<kType == OutputType::kFloat32, std::uint32_t, std::uint16_t>;
  const std::uint32_t words[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
  for (int i = 0; i < Unit<kType>::kElements; ++i) {
    const std::int64_t element = unit * Unit<kType>::kElements + i;
    const std::uint32_t word = words[i * sizeof(Element) / 4];
    const std::uint32_t value = sizeof(Element) == 4 ? word : word >> (16 * (i & 1));
    if (element < job.elements) {
      static_cast<Element*>(job.output)[element] = static_cast<Element>(value);
    }
  }
}

}  // namespace nf4bench::kernels::cuda
