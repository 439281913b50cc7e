// One thread, one output after the other: weights as the format defines them, rounded to the type
// of the activations, and a sum in float32 from the first input to the last.

#include "cpu/job_parts.hpp"
#include "cpu/matmul/variants.hpp"

#include <cstring>

namespace nf4bench::kernels::cpu {
namespace {

template <OutputType kType>
float number_at(const void* values, std::int64_t index) {
  OutputBits<kType> bits = 0;
  const auto offset = index * static_cast<std::int64_t>(sizeof(bits));
  std::memcpy(&bits, static_cast<const unsigned char*>(values) + offset, sizeof(bits));
  return from_output_bits<kType>(bits);
}

template <OutputType kType>
float weight(const Job& job, std::int64_t index) {
  const int pair = job.packed[index / 2];
  const int code = index % 2 == 0 ? pair / 16 : pair % 16;
  const float scale = block_scale(job, index >> job.block_shift);
  return from_output_bits<kType>(
      to_output_bits<kType>(nf4::multiply_flushed(codebook_value(code), scale)));
}

template <OutputType kType>
void multiply(const Job& job) {
  auto* const output = static_cast<OutputBits<kType>*>(job.output);
  for (std::int64_t n = 0; n < job.outputs; ++n) {
    for (std::int64_t m = 0; m < job.tokens; ++m) {
      float sum = 0.0f;
      for (std::int64_t k = 0; k < job.inputs; ++k) {
        sum += number_at<kType>(job.input, m * job.inputs + k) *
               weight<kType>(job, element_of(job, 0, n, k));
      }
      output[m * job.outputs + n] = finish_output<kType>(job, n, sum);
    }
  }
}

void matmul(const Job& job, const Launch&) {
  switch (job.output_type) {
    case OutputType::kFloat16:
      return multiply<OutputType::kFloat16>(job);
    case OutputType::kBfloat16:
      return multiply<OutputType::kBfloat16>(job);
    case OutputType::kFloat32:
      return multiply<OutputType::kFloat32>(job);
  }
}

}  // namespace

Variant matmul_reference() {
  Variant variant;
  variant.name = "reference";
  variant.summary = "one thread, one output at a time, from the definition";
  variant.traits.on_request = true;
  variant.traits.mirrors = "the operation's definition";
  variant.launch = matmul;
  return variant;
}

}  // namespace nf4bench::kernels::cpu
