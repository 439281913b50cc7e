#include "nf4/reference.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "nf4/arithmetic.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace nf4bench::nf4 {
namespace {

// Elements of the smallest range that a thread decodes: a whole number of blocks of any size.
constexpr std::int64_t kGrain = 64 * kMaxBlocksize;

template <OutputType kType>
struct Output;

template <>
struct Output<OutputType::kFloat16> {
  using Bits = std::uint16_t;
  static Bits from(float value) { return to_float16_bits(value); }
};

template <>
struct Output<OutputType::kBfloat16> {
  using Bits = std::uint16_t;
  static Bits from(float value) { return to_bfloat16_bits(value); }
};

template <>
struct Output<OutputType::kFloat32> {
  using Bits = std::uint32_t;
  static Bits from(float value) { return bits_of(value); }
};

// What each code decodes to with one scale. Within a block the output depends on the code alone.
template <OutputType kType>
std::array<typename Output<kType>::Bits, kCodes> decoded_codes(float scale) {
  std::array<typename Output<kType>::Bits, kCodes> decoded;
  for (int code = 0; code < kCodes; ++code) {
    decoded[static_cast<std::size_t>(code)] =
        Output<kType>::from(multiply_flushed(codebook_value(code), scale));
  }
  return decoded;
}

template <OutputType kType>
void decode(const Nf4Tensor& tensor, std::int64_t first, std::int64_t last, std::byte* output) {
  using Bits = typename Output<kType>::Bits;
  const int shift = std::countr_zero(static_cast<unsigned>(tensor.blocksize));
  const std::uint8_t* packed = tensor.packed.data();
  for (std::int64_t i = first; i < last;) {
    const std::int64_t block = i >> shift;
    const std::int64_t block_end = std::min(last, (block + 1) << shift);
    const auto decoded = decoded_codes<kType>(block_scale(tensor, block));
    for (; i < block_end; ++i) {
      const unsigned pair = packed[i >> 1];
      const Bits bits = decoded[(i & 1) == 0 ? pair >> 4 : pair & 15u];
      std::memcpy(output, &bits, sizeof(bits));
      output += sizeof(bits);
    }
  }
}

}  // namespace

float block_scale(const Nf4Tensor& tensor, std::int64_t block) {
  const auto index = static_cast<std::size_t>(block);
  if (!tensor.is_nested()) return tensor.absmax[index];
  return nested_scale(tensor.nested_map[tensor.absmax_codes[index]],
                      tensor.nested_absmax[index / kNestedBlocksize], tensor.nested_offset);
}

void reference_dequantize(const Nf4Tensor& tensor, OutputType type, ElementRange range,
                          std::span<std::byte> output) {
  const auto [first, count] = range;
  if (first < 0 || count < 0 || first > tensor.elements - count ||
      output.size() != static_cast<std::size_t>(count) * size_in_bytes(type)) {
    throw Error(ErrorKind::kInput,
                "cannot decode {} elements from {} on, of {}, into {} bytes of {}", count, first,
                tensor.elements, output.size(), to_string(type));
  }
  switch (type) {
    case OutputType::kFloat16:
      return decode<OutputType::kFloat16>(tensor, first, first + count, output.data());
    case OutputType::kBfloat16:
      return decode<OutputType::kBfloat16>(tensor, first, first + count, output.data());
    case OutputType::kFloat32:
      return decode<OutputType::kFloat32>(tensor, first, first + count, output.data());
  }
}

std::vector<std::byte> reference_dequantize(const Nf4Tensor& tensor, OutputType type) {
  const std::size_t size = size_in_bytes(type);
  std::vector<std::byte> output(static_cast<std::size_t>(tensor.elements) * size);
  parallel_for(tensor.elements, kGrain, [&](std::int64_t first, std::int64_t last) {
    const std::span part = std::span(output).subspan(static_cast<std::size_t>(first) * size,
                                                     static_cast<std::size_t>(last - first) * size);
    reference_dequantize(tensor, type, {first, last - first}, part);
  });
  return output;
}

}  // namespace nf4bench::nf4
