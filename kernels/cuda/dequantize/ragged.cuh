#pragma once

// The end of a tensor that is no whole tile: decoded unit by unit with no assumption about where it
// ends, so that the kernels' main paths need no bounds checks.

#include "cuda/codebook.cuh"
#include "cuda/dequantize/unit.cuh"

namespace nf4bench::kernels::cuda {

// Decodes those of the elements [first, first + count) that the tensor has, `lanes` threads a unit
// each at a time. `first` is a multiple of the unit.
template <OutputType kType, bool kNested>
__device__ __forceinline__ void decode_ragged(const Job& whole_job, std::int64_t first, int count,
                                              int lane, int lanes) {
  using U = Unit<kType>;
  // Read through an opaque pointer: else the compiler loads the job's fields for this path already
  // where the main path begins.
  const Job* opaque = &whole_job;
  asm volatile("" : "+l"(opaque));
  const Job& job = *opaque;
#pragma unroll 1
  for (int i = lane; i < count >> U::kShift; i += lanes) {
    const std::int64_t unit = (first >> U::kShift) + i;
    const std::int64_t element = unit << U::kShift;
    if (element >= job.elements) return;
    const std::uint32_t word = load_partial<kType>(job, unit);
    const float scale = block_scale<kNested>(job, element >> job.block_shift);
    float values[U::kElements];
#pragma unroll
    for (int k = 0; k < U::kElements; ++k) values[k] = kCodebook[(word >> nibble_shift(k)) & 15];
    store_partial<kType>(job, unit, scale_unit<kType>(values, scale));
  }
}

}  // namespace nf4bench::kernels::cuda
