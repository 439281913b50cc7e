// One thread, one element after the other, each worked out from the definition of the format.

#include "cpu/dequantize/variants.hpp"
#include "nf4/arithmetic.hpp"

#include <cstring>

namespace nf4bench::kernels::cpu {
namespace {

float weight(const Job& job, std::int64_t index) {
  const std::int64_t block = index >> job.block_shift;
  float scale = 0.0f;
  if (job.nested) {
    const float fine = job.nested_map[job.absmax_codes[block]];
    scale =
        nf4::nested_scale(fine, job.nested_absmax[block / kNestedBlocksize], *job.nested_offset);
  } else {
    scale = job.absmax[block];
  }
  const int pair = job.packed[index / 2];
  const int code = index % 2 == 0 ? pair / 16 : pair % 16;
  return nf4::multiply_flushed(codebook_value(code), scale);
}

void dequantize(const Job& job, const Launch&) {
  auto* const output = static_cast<unsigned char*>(job.output);
  for (std::int64_t i = 0; i < job.elements; ++i) {
    const float value = weight(job, i);
    if (job.output_type == OutputType::kFloat32) {
      std::memcpy(output + i * 4, &value, 4);
    } else {
      const std::uint16_t bits = job.output_type == OutputType::kFloat16
                                     ? nf4::to_float16_bits(value)
                                     : nf4::to_bfloat16_bits(value);
      std::memcpy(output + i * 2, &bits, 2);
    }
  }
}

}  // namespace

Variant reference() {
  Variant variant;
  variant.name = "reference";
  variant.summary = "one thread, one element at a time, from the definition";
  variant.traits.mirrors = "the format's definition";
  variant.launch = dequantize;
  return variant;
}

}  // namespace nf4bench::kernels::cpu
