// Fused; a grid that fits the device stays resident. Each warp walks over many chunks with the
// codebook in its registers, and loads the next chunk's words and scales before it decodes the
// current one.

#include "cuda/dequantize/fused_tile.cuh"
#include "cuda/dequantize/shuffle_decoder.cuh"
#include "cuda/dequantize/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 4;  // 1024 threads: what the smallest target holds (sm_75)
constexpr int kUnits = 2;                    // of each lane in a chunk

template <OutputType kType>
struct Chunk {
  std::uint32_t words[kUnits];
  float scales[kUnits];
};

template <OutputType kType, bool kNested>
__device__ __forceinline__ Chunk<kType> load_chunk(const Job& job, std::int64_t first_unit) {
  using U = Unit<kType>;
  Chunk<kType> chunk;
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const std::int64_t unit = first_unit + u * 32;
    const std::int64_t element = unit << U::kShift;
    chunk.words[u] = 0;
    chunk.scales[u] = 0.0f;
    if (element < job.elements) {
      chunk.words[u] = element + U::kElements <= job.elements
                           ? __ldcs(reinterpret_cast<const typename U::Packed*>(job.packed) + unit)
                           : load_partial<kType>(job, unit);
      chunk.scales[u] = block_scale<kNested>(job, element >> job.block_shift);
    }
  }
  return chunk;
}

template <OutputType kType, bool kNested>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    persistent(const __grid_constant__ Job job) {
  using U = Unit<kType>;
  const ShuffleDecoder decoder;
  const int lane = threadIdx.x & 31;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (kThreads / 32);
  const std::int64_t stride = warps * 32 * kUnits;
  const std::int64_t warp =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  std::int64_t base = warp * 32 * kUnits;  // the same for all lanes
  Chunk<kType> chunk = load_chunk<kType, kNested>(job, base + lane);
  while (base << U::kShift < job.elements) {
    const Chunk<kType> next = load_chunk<kType, kNested>(job, base + stride + lane);
#pragma unroll
    for (int u = 0; u < kUnits; ++u) {
      const std::int64_t unit = base + u * 32 + lane;
      float values[U::kElements];
      decoder.decode(chunk.words[u], values);
      const uint4 result = scale_unit<kType>(values, chunk.scales[u]);
      if ((unit + 1) << U::kShift <= job.elements) {
        __stcs(static_cast<uint4*>(job.output) + unit, result);
      } else {
        store_partial<kType>(job, unit, result);
      }
    }
    chunk = next;
    base += stride;
  }
}

void launch_persistent(const Job& job, const Launch& launch) {
  dispatch(job, [&](auto type, auto nested) {
    constexpr OutputType kType = decltype(type)::value;
    const std::int64_t units = block_count(job.elements, Unit<kType>::kElements);
    const std::int64_t resident =
        static_cast<std::int64_t>(launch.device.multiprocessors) * kBlocksPerMultiprocessor;
    const std::int64_t needed = block_count(units, kThreads * kUnits);
    const auto grid = static_cast<unsigned>(needed < resident ? needed : resident);
    persistent<kType, decltype(nested)::value><<<grid, kThreads, 0, launch.stream>>>(job);
  });
}

}  // namespace

Variant warp_persistent() {
  Variant variant;
  variant.name = "warp_persistent";
  variant.summary = "fused; resident grid, table in registers, loads pipelined ahead of decode";
  variant.traits.cache_hints = true;
  variant.traits.persistent = true;
  variant.traits.mirrors = "warp-persistent solution of the Unsloth challenge";
  variant.launch = launch_persistent;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
