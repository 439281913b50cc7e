// One thread, one output after the other: weights as the format defines them, rounded to the type
// of the activations, and sums in float32 from the first input to the last and over slots in order.

#include "cpu/experts/routed_slots.hpp"
#include "cpu/experts/variants.hpp"

namespace nf4bench::kernels::cpu {
namespace {

template <OutputType kType>
float slot_output(const Job& job, std::int64_t slot, std::int64_t n) {
  const int expert = expert_of(job, slot);
  if (expert < 0) return 0.0f;
  float sum = 0.0f;
  for (std::int64_t k = 0; k < job.inputs; ++k) {
    const std::int64_t element = element_of(job, expert, n, k);
    const int pair = job.packed[element / 2];
    const int code = element % 2 == 0 ? pair / 16 : pair % 16;
    const float scale = expert_scale(job, expert, element >> job.block_shift);
    const float weight = from_output_bits<kType>(
        to_output_bits<kType>(nf4::multiply_flushed(codebook_value(code), scale)));
    sum += value_at<kType>(job.input, input_row(job, slot) * job.inputs + k) * weight;
  }
  return weigh_slot<kType>(job, slot, expert, n, sum);
}

template <OutputType kType>
void multiply(const Job& job) {
  auto* const output = static_cast<OutputBits<kType>*>(job.output);
  const std::int64_t added = job.group.sums_slots ? job.group.top_k : 1;
  for (std::int64_t row = 0; row < slots_of(job) / added; ++row) {
    for (std::int64_t n = 0; n < job.outputs; ++n) {
      float sum = 0.0f;
      for (std::int64_t i = 0; i < added; ++i) {
        if (expert_of(job, row * added + i) < 0) continue;
        sum += slot_output<kType>(job, row * added + i, n);
      }
      output[row * job.outputs + n] = to_output_bits<kType>(sum);
    }
  }
}

}  // namespace

Variant experts_reference() {
  Variant variant;
  variant.name = "reference";
  variant.summary = "one thread, one output at a time, from the definition";
  variant.traits.on_request = true;
  variant.traits.mirrors = "the operation's definition";
  variant.launch = [](const Job& job, const Launch&) {
    with_type(job.output_type, [&](auto type) { multiply<decltype(type)::value>(job); });
  };
  return variant;
}

}  // namespace nf4bench::kernels::cpu
