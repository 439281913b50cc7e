// Fused; one warp an output, the codebook in its registers, one entry a lane, read by shuffle. The
// published design of bitsandbytes' product with one token.

#include "cuda/dequantize/shuffle_decoder.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/matmul/activations.cuh"
#include "cuda/matmul/limits.hpp"
#include "cuda/matmul/variants.hpp"

namespace nf4bench::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kLaneWeights = 32;  // of a lane at a time: 16 packed bytes, within one block

// The sum of 32 weights, without their scale, times the activations at `input`.
template <OutputType kType>
__device__ __forceinline__ float multiply_lane(const ShuffleDecoder& decoder, uint4 packed,
                                               const uint4* input, bool inside) {
  const std::uint32_t words[4] = {packed.x, packed.y, packed.z, packed.w};
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float weights[8];
    decoder.decode(words[i], weights);
    const uint4 bits = inside ? __ldg(input + i) : make_uint4(0, 0, 0, 0);
    const std::uint32_t pairs[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float2 pair = widen<kType>(pairs[k]);
      sum = __fmaf_rn(weights[2 * k], pair.x, sum);
      sum = __fmaf_rn(weights[2 * k + 1], pair.y, sum);
    }
  }
  return sum;
}

template <OutputType kType, bool kNested>
__global__ void __launch_bounds__(kThreads) gemv_shuffle(const __grid_constant__ Job job) {
  const ShuffleDecoder decoder;
  const int lane = threadIdx.x & 31;
  const std::int64_t output =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (output >= job.outputs) return;
  const std::int64_t first = output * job.inputs;
  const auto* packed = reinterpret_cast<const uint4*>(job.packed + first / 2);
  const auto* input = static_cast<const uint4*>(job.input);
  float sum = 0.0f;
  for (std::int64_t base = 0; base < job.inputs; base += 32 * kLaneWeights) {
    const std::int64_t column = base + lane * kLaneWeights;
    const bool inside = column < job.inputs;
    const std::int64_t block = (first + (inside ? column : 0)) >> job.block_shift;
    const uint4 words = inside ? __ldcs(packed + column / 32) : make_uint4(0, 0, 0, 0);
    const float scale = block_scale<kNested>(job, block);
    sum = __fmaf_rn(multiply_lane<kType>(decoder, words, input + column / 8, inside),
                    inside ? scale : 0.0f, sum);
  }
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  if (lane == 0) {
    static_cast<std::uint16_t*>(job.output)[output] = finish_output<kType>(job, output, sum);
  }
}

void launch_gemv(const Job& job, const Launch& launch) {
  dispatch(job, [&](auto type, auto nested) {
    constexpr OutputType kType = decltype(type)::value;
    if constexpr (kType != OutputType::kFloat32) {
      gemv_shuffle<kType, decltype(nested)::value>
          <<<grid_size(job.outputs, kThreads / 32), kThreads, 0, launch.stream>>>(job);
    }
  });
}

}  // namespace

Variant matmul_gemv_shuffle() {
  Variant variant;
  variant.name = "gemv_shuffle";
  variant.summary = "fused, one token; a warp an output, table in registers, read by shuffle";
  variant.traits.mirrors = "bitsandbytes' product of one token until 0.49, and Unsloth's";
  variant.unsupported = gemv_shuffle_unsupported;
  variant.launch = launch_gemv;
  return variant;
}

}  // namespace nf4bench::kernels::cuda
