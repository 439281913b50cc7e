#pragma once

// Which expert a slot of a grouped product has, and with what weight. C++17, for the host and for
// devices.

#include "variant.hpp"

#include <cstdint>

namespace nf4bench::kernels {

NF4BENCH_HOST_DEVICE inline std::int64_t id_at(const Job& job, std::int64_t index) {
  return job.group.id_bytes == 8 ? static_cast<const std::int64_t*>(job.ids)[index]
                                 : static_cast<const std::int32_t*>(job.ids)[index];
}

// Where ids are those of slots; -1: none.
NF4BENCH_HOST_DEVICE inline int chosen_expert(const Job& job, std::int64_t slot) {
  const std::int64_t id = id_at(job, slot);
  return id >= 0 && id < job.group.experts ? static_cast<int>(id) : -1;
}

// Whatever the ids are. Where they are ends, a row is that of the first expert that ends behind it.
NF4BENCH_HOST_DEVICE inline int expert_of(const Job& job, std::int64_t slot) {
  const auto experts = static_cast<int>(job.group.experts);
  if (!job.group.ends) return chosen_expert(job, slot);
  for (int expert = 0; expert < experts; ++expert) {
    if (id_at(job, expert) > slot) return expert;
  }
  return -1;
}

// The row of x that a slot multiplies.
NF4BENCH_HOST_DEVICE inline std::int64_t input_row(const Job& job, std::int64_t slot) {
  return job.group.slots_have_rows ? slot : slot / job.group.top_k;
}

}  // namespace nf4bench::kernels
