#pragma once

// A kernel around the byte planes of plane_table.cuh: each thread takes kChunk elements of one
// block, so that its table serves them all. What the threads of a warp decode is transposed through
// shared memory, so that every store covers 512 contiguous bytes.

#include "cuda/dependent_launch.cuh"
#include "cuda/dequantize/plane_table.cuh"
#include "cuda/dequantize/ragged.cuh"
#include "cuda/dequantize/read_ahead.cuh"
#include "cuda/dispatch.cuh"

namespace nf4bench::kernels::cuda {

// How a warp transposes 32 rows of kPieces 16-byte pieces, a row a lane, through shared memory. The
// exclusive or spreads the eight lanes that access it together over all banks.
template <int kPieces>
struct Transposition {
  static constexpr std::uint32_t kLanesALine = kPieces >= 8 ? 1 : 8 / kPieces;  // of 128 bytes
  static constexpr std::uint32_t kMask = kPieces >= 8 ? 7 : kPieces - 1;

  __device__ static constexpr std::uint32_t twist(std::uint32_t row) {
    return row / kLanesALine & kMask;
  }
  // The address in shared memory of piece 0 of this thread's row. Piece i lies at row_start() ^ 16
  // i, for `staging` is aligned to a row.
  __device__ static std::uint32_t row_start(const uint4* staging) {
    return shared_address(staging) + (threadIdx.x * kPieces + twist(threadIdx.x)) * 16;
  }
  // Where this lane's of the i-th 32 pieces of its warp lies, counted along the rows. The rows of
  // the i-th 32 begin at a multiple of 32 / kPieces, so that their twist is one exclusive or away.
  __device__ static std::uint32_t of_column(int i) {
    constexpr std::uint32_t kTwists = 32 / (kPieces * kLanesALine);  // within 32 pieces
    const std::uint32_t own = threadIdx.x / (kPieces * kLanesALine) & (kTwists - 1) & kMask;
    return (threadIdx.x & ~31u) * (kPieces - 1) + i * 32 +
           (threadIdx.x ^ own ^ twist(i * 32 / kPieces));
  }
};

// The packed words of this lane's chunk, from coalesced loads. `packed` is the lane-th 16 bytes of
// the warp's, `staging` has room for all of a block's.
template <int kChunk>
__device__ __forceinline__ void load_chunk(const uint4* packed, uint4* staging,
                                           std::uint32_t (&words)[kChunk / 8]) {
  constexpr int kPieces = kChunk / 32;
  uint4 pieces[kPieces];
#pragma unroll
  for (int i = 0; i < kPieces; ++i) pieces[i] = __ldcs(packed + i * 32);
  if constexpr (kPieces > 1) {
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      staging[Transposition<kPieces>::of_column(i)] = pieces[i];
    }
    __syncwarp();
    const std::uint32_t row = Transposition<kPieces>::row_start(staging);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) pieces[i] = load_shared_16(row ^ 16 * i);
    __syncwarp();
  }
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    words[4 * i] = pieces[i].x;
    words[4 * i + 1] = pieces[i].y;
    words[4 * i + 2] = pieces[i].z;
    words[4 * i + 3] = pieces[i].w;
  }
}

// Thread g of the grid decodes elements g * kChunk and up; g has 32 bits.
template <OutputType kType, bool kNested, int kThreads, int kChunk>
__global__ void __launch_bounds__(kThreads)
    fused_planes(const __grid_constant__ Job job, std::uint32_t whole_threads,
                 std::uint32_t blocks_a_wave) {
  using U = Unit<kType>;
  constexpr int kChunkShift = kChunk == 32 ? 5 : 6;
  constexpr int kPieces = kChunk / U::kElements;  // 16-byte results of a lane
  static_assert(kChunk == 1 << kChunkShift);
  __shared__ alignas(kPieces * 16) uint4 staging[kThreads * kPieces];
  const std::uint32_t lane = threadIdx.x & 31;
  const std::uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  const std::uint32_t warp_thread = thread & ~31u;  // the warp's first
  allow_next_kernel();
  read_ahead<kNested, kThreads * kChunk>(job, blocks_a_wave);
  wait_for_previous_kernel();
  if (thread >= whole_threads) {
    decode_ragged<kType, kNested>(job, std::int64_t{warp_thread} * kChunk, 32 * kChunk, lane, 32);
    return;
  }

  std::uint32_t words[kChunk / 8];
  const auto* packed = reinterpret_cast<const uint4*>(job.packed);
  // Every warp keeps to its own part of `staging`, also when it turns its input round in it.
  load_chunk<kChunk>(kChunk == 32 ? packed + thread : packed + (warp_thread * 2ull + lane),
                     staging + (threadIdx.x & ~31u) * (kPieces - kChunk / 32), words);
  const PlaneTable<kType> table(
      block_scale<kNested>(job, thread >> (job.block_shift - kChunkShift)));
  const std::uint32_t row = Transposition<kPieces>::row_start(staging);
#pragma unroll
  for (int i = 0; i < kChunk / 8; ++i) {
    if constexpr (kType == OutputType::kFloat32) {
      const Selectors selectors = selectors_of(words[i]);
      store_shared_16(row ^ 32 * i, decode_half_float32(table, selectors));
      store_shared_16(row ^ (32 * i + 16),
                      decode_half_float32(table, {selectors.entry >> 16, selectors.half >> 16}));
    } else {
      store_shared_16(row ^ 16 * i, decode_word_16bit(table, words[i]));
    }
  }
  __syncwarp();

  uint4* output = static_cast<uint4*>(job.output) + thread;
  output += warp_thread * (kPieces - 1ull);
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    __stcs(output + i * 32, staging[Transposition<kPieces>::of_column(i)]);
  }
}

// Chunks of kChunk elements where no block is shorter, else of 32.
template <int kThreads, int kChunk>
void launch_fused_planes(const Job& job, const Launch& launch) {
  if constexpr (kChunk > kMinBlocksize) {
    if ((1 << job.block_shift) < kChunk) return launch_fused_planes<kThreads, 32>(job, launch);
  }
  dispatch(job, [&](auto type, auto nested) {
    launch_dependent(launch, grid_size(job.elements, kThreads * kChunk), kThreads,
                     fused_planes<decltype(type)::value, decltype(nested)::value, kThreads, kChunk>,
                     job, whole_threads(job, kChunk), resident_blocks(launch.device, kThreads));
  });
}

}  // namespace nf4bench::kernels::cuda
