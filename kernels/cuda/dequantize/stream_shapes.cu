// Kernels that read a job's packed weight and absmax once and write as many bytes as its output
// has, without decoding: what the memory allows on that geometry. They differ in the shape of their
// accesses only; the fastest is the ceiling. What they write is meaningless.

#include "cuda/dependent_launch.cuh"
#include "cuda/dequantize/read_ahead.cuh"
#include "cuda/dequantize/unit.cuh"
#include "cuda/dequantize/variants.hpp"
#include "cuda/dispatch.cuh"
#include "cuda/memory.cuh"

namespace nf4bench::kernels::cuda {
namespace {

template <class Access, OutputType kType, bool kNested, int kThreads, int kUnits>
__global__ void __launch_bounds__(kThreads) stream_tile(const __grid_constant__ Job job) {
  using U = Unit<kType>;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kThreads * kUnits);
  const std::int64_t units = job.elements >> U::kShift;
  const auto* packed = reinterpret_cast<const typename U::Packed*>(job.packed) + first;
  uint4* output = static_cast<uint4*>(job.output) + first;
  std::uint32_t words[kUnits];
  std::uint32_t scales[kUnits];
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const int local = u * kThreads + static_cast<int>(threadIdx.x);
    if (first + local < units) {
      const std::int64_t block = (first + local) >> (job.block_shift - U::kShift);
      words[u] = Access::load(packed + local);
      if constexpr (kNested) {
        scales[u] = __ldg(job.absmax_codes + block);
      } else {
        scales[u] = __float_as_uint(__ldg(job.absmax + block));
      }
    }
  }
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    const int local = u * kThreads + static_cast<int>(threadIdx.x);
    if (first + local < units) {
      Access::store(output + local, make_uint4(words[u], scales[u], words[u], scales[u]));
    }
  }
}

template <class Access, int kThreads, int kUnits>
void launch_stream(const Job& job, const Launch& launch) {
  dispatch(job, [&](auto type, auto nested) {
    constexpr OutputType kType = decltype(type)::value;
    const std::int64_t units = block_count(job.elements, Unit<kType>::kElements);
    stream_tile<Access, kType, decltype(nested)::value, kThreads, kUnits>
        <<<grid_size(units, kThreads * kUnits), kThreads, 0, launch.stream>>>(job);
  });
}

// Launched and read ahead as the flagship is, with less to do than any decoder has: a thread takes
// 32 elements with one load and one scale, and nothing passes through shared memory.
template <OutputType kType, bool kNested, int kThreads>
__global__ void __launch_bounds__(kThreads)
    stream_ahead(const __grid_constant__ Job job, std::uint32_t blocks_a_wave) {
  using U = Unit<kType>;
  constexpr int kUnits = 32 / U::kElements;  // of a thread
  const std::uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  allow_next_kernel();
  read_ahead<kNested, kThreads * 32>(job, blocks_a_wave);
  wait_for_previous_kernel();
  uint4 words = {};
  std::uint32_t scale = 0;
  if (std::int64_t{thread} * 32 + 32 <= job.elements) {
    words = __ldcs(reinterpret_cast<const uint4*>(job.packed) + thread);
    const std::uint32_t block = thread >> (job.block_shift - 5);
    if constexpr (kNested) {
      scale = __ldg(job.absmax_codes + block);
    } else {
      scale = __float_as_uint(__ldg(job.absmax + block));
    }
  }
  const std::int64_t first = std::int64_t{thread & ~31u} * kUnits + (thread & 31);
  const std::int64_t units = job.elements >> U::kShift;
  uint4* output = static_cast<uint4*>(job.output) + first;
#pragma unroll
  for (int u = 0; u < kUnits; ++u) {
    if (first + u * 32 < units) {
      __stcs(output + u * 32, make_uint4(words.x, words.y, words.z, words.w ^ scale));
    }
  }
}

template <int kThreads>
void launch_stream_ahead(const Job& job, const Launch& launch) {
  dispatch(job, [&](auto type, auto nested) {
    launch_dependent(launch, grid_size(job.elements, kThreads * 32), kThreads,
                     stream_ahead<decltype(type)::value, decltype(nested)::value, kThreads>, job,
                     resident_blocks(launch.device, kThreads));
  });
}

Variant shape(const char* name, const char* summary,
              void (*launch)(const Job& job, const Launch& launch)) {
  Variant variant;
  variant.name = name;
  variant.summary = summary;
  variant.launch = launch;
  return variant;
}

}  // namespace

std::vector<Variant> stream_shapes() {
  return {
      shape("cs_128x2", "4-byte loads, 2 a thread, .cs", launch_stream<StreamingAccess, 128, 2>),
      shape("plain_128x2", "4-byte loads, 2 a thread", launch_stream<PlainAccess, 128, 2>),
      shape("ahead64", "dependent launch, read ahead, 16-byte loads, 512-byte stores a warp",
            launch_stream_ahead<64>),
      shape("ahead128", "the same in larger blocks", launch_stream_ahead<128>),
      shape("ahead256", "and larger ones", launch_stream_ahead<256>),
  };
}

}  // namespace nf4bench::kernels::cuda
