#pragma once

// The skeleton of the fused kernels that differ only in how a nibble becomes a value: a block of
// threads takes a tile of units, each thread every kThreads-th, loads all its words and scales,
// then decodes and stores. Loads are 4 bytes a thread (2 for float32), stores 16, both coalesced.

#include "cuda/dequantize/unit.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/memory.cuh"

namespace nf4bench::kernels::cuda {

// A Decoder is constructed by every thread of the block (it may fill shared memory and synchronise)
// and has `void decode(uint32_t word, float (&values)[N]) const`: the codebook values of the N
// nibbles of `word`, in element order. All 32 lanes call it together.
template <class Decoder, class Access, OutputType kType, bool kNested, int kThreads, int kUnits>
__global__ void __launch_bounds__(kThreads) fused_tile(const __grid_constant__ Job job) {
  using U = Unit<kType>;
  const Decoder decoder;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kUnits);
  const std::int64_t full_units = job.elements >> U::kShift;
  const int unit_block_shift = job.block_shift - U::kShift;
  const auto* packed = reinterpret_cast<const typename U::Packed*>(job.packed) + first;
  uint4* output = static_cast<uint4*>(job.output) + first;
  const bool is_whole = first + kThreads * kUnits <= full_units;

  std::uint32_t words[kUnits];
  float scales[kUnits];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const int local = u * kThreads + static_cast<int>(threadIdx.x);
    const std::int64_t unit = first + local;
    if (is_whole || unit < full_units) {
      words[u] = Access::load(packed + local);
      scales[u] = block_scale<kNested>(job, unit >> unit_block_shift);
    } else {
      const bool has_elements = unit << U::kShift < job.elements;
      words[u] = has_elements ? load_partial<kType>(job, unit) : 0;
      scales[u] = has_elements ? block_scale<kNested>(job, unit >> unit_block_shift) : 0.0f;
    }
  }
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const int local = u * kThreads + static_cast<int>(threadIdx.x);
    float values[U::kElements];
    decoder.decode(words[u], values);
    const uint4 result = scale_unit<kType>(values, scales[u]);
    if (is_whole || first + local < full_units) {
      Access::store(output + local, result);
    } else {
      store_partial<kType>(job, first + local, result);
    }
  }
}

// Launches the skeleton over the whole job.
template <class Decoder, class Access, int kThreads, int kUnits>
void launch_fused_tile(const Job& job, const Launch& launch) {
  dispatch(job, [&](auto type, auto nested) {
    constexpr OutputType kType = decltype(type)::value;
    const std::int64_t units = block_count(job.elements, Unit<kType>::kElements);
    fused_tile<Decoder, Access, kType, decltype(nested)::value, kThreads, kUnits>
        <<<grid_size(units, kThreads * kUnits), kThreads, 0, launch.stream>>>(job);
  });
}

}  // namespace nf4bench::kernels::cuda
