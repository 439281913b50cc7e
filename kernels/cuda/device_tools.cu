#include "cuda/device_tools.hpp"
#include "cuda/dispatch.cuh"

#include <cuda_runtime.h>

namespace nf4bench::kernels::cuda {
namespace {

template <OutputType kType>
struct Pattern {
  using Bits = std::conditional_t<kType == OutputType::kFloat32, std::uint32_t, std::uint16_t>;
  static constexpr Bits kSign = kType == OutputType::kFloat32 ? 0x80000000u : 0x8000u;
  static constexpr Bits kInfinity = kType == OutputType::kFloat32    ? 0x7f800000u
                                    : kType == OutputType::kBfloat16 ? 0x7f80u
                                                                     : 0x7c00u;
  static constexpr unsigned long long kRange = static_cast<Bits>(~Bits{0});

  __device__ static bool is_nan(Bits bits) {
    return static_cast<Bits>(bits & static_cast<Bits>(~kSign)) > kInfinity;
  }
  // Position on a line of all values from -NaN to +NaN; +0 and -0 are one step apart.
  __device__ static long long position(Bits bits) {
    const long long magnitude = static_cast<Bits>(bits & static_cast<Bits>(~kSign));
    return (bits & kSign) != 0 ? -magnitude - 1 : magnitude;
  }
  __device__ static unsigned long long distance(Bits a, Bits b) {
    if (is_nan(a) || is_nan(b)) return kRange;
    const long long difference = position(a) - position(b);
    return difference < 0 ? -difference : difference;
  }
};

// What one thread found.
template <OutputType kType>
struct Mismatches {
  unsigned long long count = 0;
  unsigned long long first = ~0ull;
  unsigned long long max_ulp = 0;

  template <class Bits>
  __device__ void look(Bits want, Bits got, std::int64_t index) {
    using P = Pattern<kType>;
    if (want == got || (P::is_nan(want) && P::is_nan(got))) return;
    ++count;
    first = min(first, static_cast<unsigned long long>(index));
    max_ulp = max(max_ulp, P::distance(want, got));
  }
};

__device__ bool are_equal(uint4 a, uint4 b) {
  return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

// A row of blocks for each pair. Whole vectors are told to be equal at once: nearly all are.
template <OutputType kType>
__global__ void compare(const OutputPair* pairs, std::int64_t values, DeviceVerdict* verdicts) {
  using Bits = typename Pattern<kType>::Bits;
  constexpr int kLanes = sizeof(uint4) / sizeof(Bits);
  const OutputPair pair = pairs[blockIdx.y];
  const auto* const expected = static_cast<const Bits*>(pair.expected);
  const auto* const actual = static_cast<const Bits*>(pair.actual);
  const std::int64_t vectors = values / kLanes;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  Mismatches<kType> found;
  for (std::int64_t v = start; v < vectors; v += stride) {
    if (are_equal(reinterpret_cast<const uint4*>(expected)[v],
                  reinterpret_cast<const uint4*>(actual)[v])) {
      continue;
    }
    for (std::int64_t i = v * kLanes; i < (v + 1) * kLanes; ++i) {
      found.look(expected[i], actual[i], i);
    }
  }
  for (std::int64_t i = vectors * kLanes + start; i < values; i += stride) {
    found.look(expected[i], actual[i], i);
  }
  if (found.count != 0) {
    atomicAdd(&verdicts[blockIdx.y].mismatches, found.count);
    atomicMin(&verdicts[blockIdx.y].first_mismatch, found.first);
    atomicMax(&verdicts[blockIdx.y].max_ulp, found.max_ulp);
  }
}

// A row of blocks for each output. Stores stream past the cache: what lies there is to stay.
__global__ void poison(const __grid_constant__ PoisonPlaces places, std::uint32_t word) {
  std::byte* const output = places.outputs[blockIdx.y];
  const std::int64_t step = places.stride * gridDim.x * blockDim.x;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t at = places.first + index * places.stride; at < places.bytes; at += step) {
    if (at + kPoisonPiece <= places.bytes) {
      auto* const piece = reinterpret_cast<uint4*>(output + at);
      __stcs(piece, make_uint4(word, word, word, word));
      __stcs(piece + 1, make_uint4(word, word, word, word));
    } else {
      for (std::int64_t i = at; i < places.bytes; ++i) output[i] = static_cast<std::byte>(word);
    }
  }
}

__global__ void clock_stamp(ClockStamp* stamps) {
  unsigned sm = 0;
  unsigned long long nanoseconds = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  if (threadIdx.x == 0) stamps[sm] = {static_cast<unsigned long long>(clock64()), nanoseconds};
}

__global__ void nothing() {}

__global__ void __launch_bounds__(256)
    copy(const uint4* source, uint4* target, std::int64_t count) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * 512 + threadIdx.x;
  uint4 values[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    values[i] = make_uint4(1, 2, 3, 4);
    if (source != nullptr && first + i * 256 < count) values[i] = __ldcs(source + first + i * 256);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (first + i * 256 < count) __stcs(target + first + i * 256, values[i]);
  }
}

constexpr int kReadPieces = 8;  // a thread's loads in flight

__global__ void __launch_bounds__(256) read(const uint4* source, std::int64_t count, float* sink) {
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * 256 * kReadPieces + threadIdx.x;
  std::uint32_t all = 0;
#pragma unroll
  for (int i = 0; i < kReadPieces; ++i) {
    if (first + i * 256 >= count) continue;
    const uint4 value = source[first + i * 256];
    all |= value.x | value.y | value.z | value.w;
  }
  // Hardly ever, but the compiler must keep the loads for it.
  if (all == 0x5bd1e995u) *sink = 1.0f;
}

constexpr int kSpacerThreads = 256;
constexpr int kSpacerBlocks = 8;    // on each multiprocessor
constexpr int kSpacerRounds = 300;  // 5.6 us on an H200: more than launching it takes

__global__ void __launch_bounds__(kSpacerThreads) spacer(float* output) {
  float value = threadIdx.x;
#pragma unroll 4
  for (int i = 0; i < kSpacerRounds; ++i) value = __fmaf_rn(value, 1.0001f, 0.5f);
  // No value is negative, but the compiler must compute them all to know that.
  if (threadIdx.x == 0 || value < 0.0f) output[blockIdx.x] = value;
}

__global__ void busy(std::int64_t nanoseconds) {
  unsigned long long start = 0;
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < static_cast<unsigned long long>(nanoseconds));
}

}  // namespace

void launch_compare(const OutputPairs& outputs, DeviceVerdict* verdicts, CUstream_st* stream) {
  constexpr int kThreads = 256;
  const dim3 grid = grid_of_rows(outputs.values, kThreads * 32, outputs.count);
  const auto launch = [&](auto tag) {
    compare<decltype(tag)::value>
        <<<grid, kThreads, 0, stream>>>(outputs.pairs, outputs.values, verdicts);
  };
  switch (outputs.type) {
    case OutputType::kFloat16:
      return launch(TypeTag<OutputType::kFloat16>{});
    case OutputType::kBfloat16:
      return launch(TypeTag<OutputType::kBfloat16>{});
    case OutputType::kFloat32:
      return launch(TypeTag<OutputType::kFloat32>{});
  }
}

void launch_poison(const PoisonPlaces& places, unsigned char value, CUstream_st* stream) {
  constexpr int kThreads = 128;
  const dim3 grid = grid_of_rows(block_count(places.bytes, places.stride), kThreads, places.count);
  poison<<<grid, kThreads, 0, stream>>>(places, value * 0x01010101u);
}

void launch_clock_stamp(ClockStamp* stamps, int multiprocessors, CUstream_st* stream) {
  clock_stamp<<<static_cast<unsigned>(multiprocessors), 32, 0, stream>>>(stamps);
}

void launch_nothing(CUstream_st* stream) {
  nothing<<<1, 32, 0, stream>>>();
}

void launch_copy(const void* source, void* target, std::int64_t bytes, CUstream_st* stream) {
  copy<<<grid_size(bytes / 16, 512), 256, 0, stream>>>(static_cast<const uint4*>(source),
                                                       static_cast<uint4*>(target), bytes / 16);
}

void launch_read(const void* source, std::int64_t bytes, float* sink, CUstream_st* stream) {
  const std::int64_t count = bytes / 16;
  read<<<grid_size(count, 256 * kReadPieces), 256, 0, stream>>>(static_cast<const uint4*>(source),
                                                                count, sink);
}

void launch_spacer(float* output, int multiprocessors, CUstream_st* stream) {
  const auto grid = static_cast<unsigned>(multiprocessors * kSpacerBlocks);
  spacer<<<grid, kSpacerThreads, 0, stream>>>(output);
}

std::int64_t spacer_output_bytes(int multiprocessors) {
  return std::int64_t{multiprocessors} * kSpacerBlocks * std::int64_t{sizeof(float)};
}

void launch_busy(std::int64_t nanoseconds, CUstream_st* stream) {
  busy<<<1, 1, 0, stream>>>(nanoseconds);
}

}  // namespace nf4bench::kernels::cuda
