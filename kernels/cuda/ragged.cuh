#pragma once

// The end of a tensor that is no whole tile: decoded unit by unit with no assumption about where it
// ends, so that the kernels' main paths need no bounds checks.

#include "unit.cuh"

namespace nf4bench::cuda {

// In constant memory for one read a thread; a table in code would cost 32 selects.
static __constant__ float kCodebook[kCodes] = {
    codebook_value(0),  codebook_value(1),  codebook_value(2),  codebook_value(3),
    codebook_value(4),  codebook_value(5),  codebook_value(6),  codebook_value(7),
    codebook_value(8),  codebook_value(9),  codebook_value(10), codebook_value(11),
    codebook_value(12), codebook_value(13), codebook_value(14), codebook_value(15)};

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

}  // namespace nf4bench::cuda
