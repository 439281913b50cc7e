// A peer for CUDA devices: a short kernel for each operation, and how a library declines what it
// cannot do.
//
//   nf4bench run --shape 4096x4096 --peer mine=./libcuda_peer.so
//   nf4bench run --shape 4096x4096 --operation matmul --peer mine=./libcuda_peer.so

#include "nf4bench_peer.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

__constant__ float codebook[16] = {
    -1.0f,
    -0.6961928009986877f,
    -0.5250730514526367f,
    -0.39491748809814453f,
    -0.28444138169288635f,
    -0.18477343022823334f,
    -0.09105003625154495f,
    0.0f,
    0.07958029955625534f,
    0.16093020141124725f,
    0.24611230194568634f,
    0.33791524171829224f,
    0.44070982933044434f,
    0.5626170039176941f,
    0.7229568362236023f,
    1.0f,
};

// A product with subnormals flushed to zero, as bitsandbytes' builds compute it.
__device__ float multiply(float a, float b) {
  float product;
  asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
  return product;
}

__device__ void store(__half& to, float value) {
  to = __float2half_rn(value);
}
__device__ void store(__nv_bfloat16& to, float value) {
  to = __float2bfloat16_rn(value);
}
__device__ void store(float& to, float value) {
  to = value;
}

__device__ float scale_of(const nf4bench_peer_job& job, int64_t block) {
  if (!job.nested) return job.absmax[block];
  return __fadd_rn(
      multiply(job.nested_map[job.absmax_codes[block]], job.nested_absmax[block / 256]),
      job.nested_offset);
}

// Each thread decodes one packed byte, which is two elements.
template <class Element>
__global__ void decode(nf4bench_peer_job job) {
  const int64_t byte = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t first = 2 * byte;
  if (first >= job.elements) return;
  const float scale = scale_of(job, first >> job.block_shift);
  const unsigned codes = job.packed[byte];
  auto* const output = static_cast<Element*>(job.output) + first;
  store(output[0], multiply(codebook[codes >> 4], scale));
  if (first + 1 < job.elements) store(output[1], multiply(codebook[codes & 15], scale));
}

// Each warp computes one output. Weights are rounded to the output type, as if they had been
// decoded to memory.
template <class Element>
__global__ void multiply_by_warps(nf4bench_peer_job job) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (at >= job.tokens * job.outputs) return;
  const auto* const x = static_cast<const Element*>(job.input) + at / job.outputs * job.inputs;
  const int64_t row = at % job.outputs * job.inputs;
  float sum = 0.0f;
  for (int64_t k = threadIdx.x % 32; k < job.inputs; k += 32) {
    const unsigned codes = job.packed[(row + k) / 2];
    const float value = multiply(codebook[(row + k) % 2 == 0 ? codes >> 4 : codes & 15],
                                 scale_of(job, (row + k) >> job.block_shift));
    Element weight;
    store(weight, value);
    sum += static_cast<float>(x[k]) * static_cast<float>(weight);
  }
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  if (threadIdx.x % 32 == 0) store(static_cast<Element*>(job.output)[at], sum);
}

constexpr int kThreads = 256;

int launch_product(const nf4bench_peer_job* job, void* stream) {
  constexpr int kWarps = kThreads / 32;
  const auto grid = static_cast<unsigned>((job->tokens * job->outputs + kWarps - 1) / kWarps);
  auto* const on = static_cast<cudaStream_t>(stream);
  switch (job->output_type) {
    case NF4BENCH_PEER_FLOAT16:
      multiply_by_warps<__half><<<grid, kThreads, 0, on>>>(*job);
      break;
    case NF4BENCH_PEER_BFLOAT16:
      multiply_by_warps<__nv_bfloat16><<<grid, kThreads, 0, on>>>(*job);
      break;
    default:
      multiply_by_warps<float><<<grid, kThreads, 0, on>>>(*job);
  }
  return cudaGetLastError();
}

int launch(const nf4bench_peer_job* job, void* stream) {
  const auto grid = static_cast<unsigned>((job->elements + 2 * kThreads - 1) / (2 * kThreads));
  auto* const on = static_cast<cudaStream_t>(stream);
  switch (job->output_type) {
    case NF4BENCH_PEER_FLOAT16:
      decode<__half><<<grid, kThreads, 0, on>>>(*job);
      break;
    case NF4BENCH_PEER_BFLOAT16:
      decode<__nv_bfloat16><<<grid, kThreads, 0, on>>>(*job);
      break;
    default:
      decode<float><<<grid, kThreads, 0, on>>>(*job);
  }
  return cudaGetLastError();
}

const char* unsupported(const nf4bench_peer_job* job, const nf4bench_peer_device* device) {
  if (device->compute_capability < 75) return "needs sm_75 or later";
  if (job->elements >= int64_t{1} << 39 || job->tokens * job->outputs >= int64_t{1} << 33) {
    return "more blocks than a grid can have";
  }
  return nullptr;
}

const nf4bench_peer_variant variants[] = {
    {
        /*name=*/nullptr,
        /*summary=*/"a byte a thread, codebook in constant memory",
        NF4BENCH_PEER_DEQUANTIZE,
        NF4BENCH_PEER_CUDA,
        /*launches=*/1,
        /*flags=*/0,
        unsupported,
        /*workspace_bytes=*/nullptr,
        launch,
    },
    {
        /*name=*/nullptr,
        /*summary=*/"a warp an output, codebook in constant memory",
        NF4BENCH_PEER_MATMUL,
        NF4BENCH_PEER_CUDA,
        /*launches=*/1,
        /*flags=*/0,
        unsupported,
        /*workspace_bytes=*/nullptr,
        launch_product,
    },
};

const nf4bench_peer_table table = {NF4BENCH_PEER_ABI, sizeof(nf4bench_peer_variant), 2,
                                   sizeof(nf4bench_peer_table), variants};

}  // namespace

const nf4bench_peer_table* nf4bench_peer_v2(void) {
  return &table;
}
