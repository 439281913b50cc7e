#pragma once

#include "variant.hpp"

#include <cstdint>

namespace nf4bench::kernels::cuda {

// Brings rows of 16-bit products, sorted by expert, to their slots: `count` of them, `order` says
// whose each is. With the bias of the expert, times the slot's weight, they go to `sums` in
// float32; without these they become the outputs of slots.
void launch_place_rows(const Job& job, const Launch& launch, const void* products, const int* order,
                       std::int64_t count, float* sums);

}  // namespace nf4bench::kernels::cuda
