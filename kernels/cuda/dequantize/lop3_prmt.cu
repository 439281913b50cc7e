// Fused, inline PTX; each thread takes 32 elements of one block, builds the block's 16 finished
// outputs as byte planes in registers (plane_table.cuh) and looks nibbles up with prmt. The results
// of a warp are transposed through shared memory, so that every store covers 512 contiguous bytes.

#include "dequantize/variants.hpp"
#include "dispatch.cuh"
#include "memory.cuh"
#include "plane_table.cuh"

namespace nf4bench::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kChunk = 32;                  // elements of a thread; no block is smaller
constexpr int kWarpElements = 32 * kChunk;  // of a warp

// Packed words of the chunk that starts at `element`; zeros past the end of the tensor.
__device__ __forceinline__ uint4 load_chunk(const Job& job, std::int64_t element) {
  if (element + kChunk <= job.elements) {
    return __ldcs(reinterpret_cast<const uint4*>(job.packed) + element / kChunk);
  }
  std::uint32_t words[4] = {};
  for (int i = 0; i < kChunk / 2; ++i) {
    if (element / 2 + i < packed_bytes(job.elements)) {
      words[i / 4] |= std::uint32_t{job.packed[element / 2 + i]} << (8 * (i % 4));
    }
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// Where lane `lane` keeps its `piece`-th 16 bytes of kPieces; the exclusive or spreads the eight
// lanes that access shared memory together over all banks.
template <int kPieces>
__device__ __forceinline__ int swizzled(int lane, int piece) {
  return lane * kPieces + (piece ^ (kPieces == 4 ? (lane >> 1) & 3 : lane & 7));
}

template <OutputType kType, bool kNested>
__global__ void __launch_bounds__(kThreads) decode(const __grid_constant__ Job job) {
  using U = Unit<kType>;
  constexpr int kPieces = kChunk / U::kElements;
  __shared__ uint4 staging[kThreads / 32][32 * kPieces];
  uint4* const staged = staging[threadIdx.x / 32];
  const int lane = threadIdx.x & 31;
  const std::int64_t warp_element =
      (static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32) * kWarpElements;
  const std::int64_t element = warp_element + lane * kChunk;

  if (element < job.elements) {
    const uint4 chunk = load_chunk(job, element);
    const PlaneTable<kType> table(block_scale<kNested>(job, element >> job.block_shift));
    const std::uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kType == OutputType::kFloat32) {
        const Selectors selectors = selectors_of(words[i]);
        staged[swizzled<kPieces>(lane, 2 * i)] = decode_half_float32(table, selectors);
        staged[swizzled<kPieces>(lane, 2 * i + 1)] =
            decode_half_float32(table, {selectors.entry >> 16, selectors.half >> 16});
      } else {
        staged[swizzled<kPieces>(lane, i)] = decode_word_16bit(table, words[i]);
      }
    }
  }
  __syncwarp();

  const std::int64_t first_unit = warp_element >> U::kShift;
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    const int local = i * 32 + lane;
    const std::int64_t unit = first_unit + local;
    if (unit << U::kShift < job.elements) {
      const uint4 result = staged[swizzled<kPieces>(local / kPieces, local % kPieces)];
      if ((unit + 1) << U::kShift <= job.elements) {
        __stcs(static_cast<uint4*>(job.output) + unit, result);
      } else {
        store_partial<kType>(job, unit, result);
      }
    }
  }
}

void launch_decode(const Job& job, const Launch& launch) {
  dispatch(job, [&](auto type, auto nested) {
    constexpr int kBlockElements = kThreads * kChunk;
    decode<decltype(type)::value, decltype(nested)::value>
        <<<grid_size(job.elements, kBlockElements), kThreads, 0, launch.stream>>>(job);
  });
}

}  // namespace

Variant lop3_prmt() {
  Variant variant;
  variant.name = "lop3_prmt";
  variant.summary = "fused; prmt looks nibbles up in pre-scaled byte planes in registers";
  variant.traits.inline_ptx = true;
  variant.traits.cache_hints = true;
  variant.traits.mirrors = "this project";
  variant.unsupported = always_supported;
  variant.workspace_bytes = no_workspace;
  variant.launch = launch_decode;
  return variant;
}

}  // namespace nf4bench::cuda
