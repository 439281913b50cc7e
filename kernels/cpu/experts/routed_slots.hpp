#pragma once

// What the CPU's products with stacks of experts share.

#include "cpu/job_parts.hpp"
#include "routing.hpp"

#include <cstring>

namespace nf4bench::kernels::cpu {

template <class Use>
void with_type(OutputType type, const Use& use) {
  switch (type) {
    case OutputType::kFloat16:
      return use(std::integral_constant<OutputType, OutputType::kFloat16>{});
    case OutputType::kBfloat16:
      return use(std::integral_constant<OutputType, OutputType::kBfloat16>{});
    case OutputType::kFloat32:
      return use(std::integral_constant<OutputType, OutputType::kFloat32>{});
  }
}

template <OutputType kType>
float value_at(const void* values, std::int64_t index) {
  OutputBits<kType> bits = 0;
  const auto offset = index * static_cast<std::int64_t>(sizeof(bits));
  std::memcpy(&bits, static_cast<const unsigned char*>(values) + offset, sizeof(bits));
  return from_output_bits<kType>(bits);
}

inline float slot_weight(const Job& job, std::int64_t slot) {
  float weight = 1.0f;
  if (job.slot_weights == nullptr) return weight;
  with_type(job.slot_weight_type,
            [&](auto type) { weight = value_at<decltype(type)::value>(job.slot_weights, slot); });
  return weight;
}

// The scale of a block of an expert.
inline float expert_scale(const Job& job, std::int64_t expert, std::int64_t block) {
  if (!job.group.own_offsets) return block_scale(job, block);
  return nf4::nested_scale(job.nested_map[job.absmax_codes[block]],
                           job.nested_absmax[block / kNestedBlocksize], job.nested_offset[expert]);
}

// What a slot contributes to output `n`, its sum being whole: with the bias, times its weight.
template <OutputType kType>
float weigh_slot(const Job& job, std::int64_t slot, std::int64_t expert, std::int64_t n,
                 float sum) {
  if (job.bias != nullptr) sum += value_at<kType>(job.bias, expert * job.outputs + n);
  return job.slot_weights == nullptr ? sum : sum * slot_weight(job, slot);
}

}  // namespace nf4bench::kernels::cpu
