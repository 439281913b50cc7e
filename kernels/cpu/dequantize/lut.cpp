// Fused, scalar, on all cores: within a block an output depends on its code alone, so the 16
// outputs of a block are worked out once and every element is a look-up.

#include "cpu/dequantize/variants.hpp"
#include "cpu/job_parts.hpp"

#include <array>

namespace nf4bench::kernels::cpu {
namespace {

template <OutputType kType>
std::array<OutputBits<kType>, kCodes> decoded_codes(float scale) {
  std::array<OutputBits<kType>, kCodes> table;
  for (int code = 0; code < kCodes; ++code) {
    table[static_cast<std::size_t>(code)] =
        to_output_bits<kType>(nf4::multiply_flushed(kCodebook[code], scale));
  }
  return table;
}

template <OutputType kType>
void decode_block(const Job& job, std::int64_t block) {
  const auto table = decoded_codes<kType>(block_scale(job, block));
  const std::int64_t first = block << job.block_shift;
  const std::int64_t count = std::min(job.elements - first, std::int64_t{1} << job.block_shift);
  const std::uint8_t* packed = job.packed + first / 2;
  OutputBits<kType>* output = static_cast<OutputBits<kType>*>(job.output) + first;
  for (std::int64_t byte = 0; byte < count / 2; ++byte) {
    output[2 * byte] = table[packed[byte] >> 4];
    output[2 * byte + 1] = table[packed[byte] & 15];
  }
  if (count % 2 != 0) output[count - 1] = table[packed[count / 2] >> 4];
}

template <OutputType kType>
void decode(const Job& job, const Launch& launch) {
  for_each_part(launch, {job.blocks, std::int64_t{1} << job.block_shift}, [&](Range range) {
    for (std::int64_t block = range.first; block < range.last; ++block) {
      decode_block<kType>(job, block);
    }
  });
}

void dequantize(const Job& job, const Launch& launch) {
  switch (job.output_type) {
    case OutputType::kFloat16:
      return decode<OutputType::kFloat16>(job, launch);
    case OutputType::kBfloat16:
      return decode<OutputType::kBfloat16>(job, launch);
    case OutputType::kFloat32:
      return decode<OutputType::kFloat32>(job, launch);
  }
}

}  // namespace

Variant lut() {
  Variant variant;
  variant.name = "lut";
  variant.summary = "fused, scalar on all cores; the 16 outputs of a block looked up";
  variant.traits.mirrors = "a compiler's best without intrinsics";
  variant.launch = dequantize;
  return variant;
}

}  // namespace nf4bench::kernels::cpu
