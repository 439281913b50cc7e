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

template <OutputType kType>
__global__ void compare(const typename Pattern<kType>::Bits* expected,
                        const typename Pattern<kType>::Bits* actual, std::int64_t count,
                        DeviceVerdict* result) {
  using P = Pattern<kType>;
  unsigned long long mismatches = 0;
  unsigned long long first_mismatch = ~0ull;
  unsigned long long max_ulp = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const auto want = expected[i];
    const auto got = actual[i];
    if (want == got || (P::is_nan(want) && P::is_nan(got))) continue;
    ++mismatches;
    first_mismatch = min(first_mismatch, static_cast<unsigned long long>(i));
    max_ulp = max(max_ulp, P::distance(want, got));
  }
  if (mismatches != 0) {
    atomicAdd(&result->mismatches, mismatches);
    atomicMin(&result->first_mismatch, first_mismatch);
    atomicMax(&result->max_ulp, max_ulp);
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

void launch_compare(const OutputPair& outputs, DeviceVerdict* verdict, CUstream_st* stream) {
  constexpr int kThreads = 256;
  const std::int64_t blocks = block_count(outputs.count, kThreads * 8);
  const auto grid = static_cast<unsigned>(blocks < 65536 ? blocks : 65536);
  const auto launch = [&](auto tag) {
    using Bits = typename Pattern<decltype(tag)::value>::Bits;
    compare<decltype(tag)::value><<<grid, kThreads, 0, stream>>>(
        static_cast<const Bits*>(outputs.expected), static_cast<const Bits*>(outputs.actual),
        outputs.count, verdict);
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
