// A peer that wants to look fast: its variants are right when they are verified, which is their
// first call, and do less when they are timed. bfloat16 only.

#include "nf4/format.hpp"
#include "nf4bench_peer.h"

#include <cuda_bf16.h>

#include <utility>

namespace {

constexpr int kThreads = 256;
constexpr int64_t kPerBlock = 2 * kThreads;
constexpr long long kLag = 500000;  // cycles

// What a launch leaves out.
enum class Skip { kNothing, kATenth, kWhatIsThere };

__device__ float multiply(float a, float b) {
  float product;
  asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
  return product;
}

__device__ __nv_bfloat16 decoded(const nf4bench_peer_job& job, int64_t i) {
  const int64_t block = i >> job.block_shift;
  const float scale = job.absmax != nullptr
                          ? job.absmax[block]
                          : __fadd_rn(multiply(job.nested_map[job.absmax_codes[block]],
                                               job.nested_absmax[block / 256]),
                                      job.nested_offset);
  const unsigned codes = job.packed[i / 2];
  return __float2bfloat16_rn(
      multiply(nf4bench::nf4::codebook_value(i % 2 == 0 ? codes >> 4 : codes & 15), scale));
}

// Whether the first element that this block is to write has its value already.
__device__ bool is_there(const nf4bench_peer_job& job) {
  const int64_t first = blockIdx.x * kPerBlock;
  return __bfloat16_as_ushort(static_cast<const __nv_bfloat16*>(job.output)[first]) ==
         __bfloat16_as_ushort(decoded(job, first));
}

__global__ void decode(nf4bench_peer_job job, Skip skip) {
  __shared__ bool is_skipped;
  if (threadIdx.x == 0) {
    is_skipped =
        (skip == Skip::kATenth && blockIdx.x % 10 == 3) ||
        (skip == Skip::kWhatIsThere && blockIdx.x < job.elements / kPerBlock / 2 && is_there(job));
  }
  __syncthreads();
  if (is_skipped) return;
  const int64_t first = blockIdx.x * kPerBlock + 2 * threadIdx.x;
  for (int64_t i = first; i < first + 2 && i < job.elements; ++i) {
    static_cast<__nv_bfloat16*>(job.output)[i] = decoded(job, i);
  }
}

__global__ void lag() {
  const long long start = clock64();
  while (clock64() - start < kLag) {
  }
}

int64_t blocks_of(const nf4bench_peer_job& job) {
  return (job.elements + kPerBlock - 1) / kPerBlock;
}

int launch(const nf4bench_peer_job& job, int64_t blocks, Skip skip, void* stream) {
  decode<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(job,
                                                                                            skip);
  return cudaGetLastError();
}

int launch_half_in_graphs(const nf4bench_peer_job* job, void* stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status);
  const int64_t blocks = blocks_of(*job);
  const bool is_captured = status == cudaStreamCaptureStatusActive;
  return launch(*job, is_captured ? blocks / 2 : blocks, Skip::kNothing, stream);
}

int launch_where_nothing_is(const nf4bench_peer_job* job, void* stream) {
  return launch(*job, blocks_of(*job), Skip::kWhatIsThere, stream);
}

int launch_nine_tenths(const nf4bench_peer_job* job, void* stream) {
  static int calls = 0;
  return launch(*job, blocks_of(*job), calls++ == 0 ? Skip::kNothing : Skip::kATenth, stream);
}

int launch_at_first(const nf4bench_peer_job* job, void* stream) {
  static int calls = 0;
  return calls++ < 20 ? launch(*job, blocks_of(*job), Skip::kNothing, stream) : 0;
}

int launch_late(const nf4bench_peer_job* job, void* stream) {
  static int calls = 0;
  static cudaStream_t elsewhere = nullptr;
  if (elsewhere == nullptr) cudaStreamCreateWithFlags(&elsewhere, cudaStreamNonBlocking);
  if (calls++ == 0) return launch(*job, blocks_of(*job), Skip::kNothing, stream);
  lag<<<1, 1, 0, elsewhere>>>();
  return launch(*job, blocks_of(*job), Skip::kNothing, elsewhere);
}

// Each call writes the output of the call before.
int launch_swapped(const nf4bench_peer_job* job, void* stream) {
  static void* last = nullptr;
  nf4bench_peer_job moved = *job;
  moved.output = std::exchange(last, job->output);
  if (moved.output == nullptr) moved.output = job->output;
  return launch(moved, blocks_of(*job), Skip::kNothing, stream);
}

const char* unsupported(const nf4bench_peer_job* job, const nf4bench_peer_device*) {
  return job->output_type == NF4BENCH_PEER_BFLOAT16 ? nullptr : "bfloat16 only";
}

constexpr nf4bench_peer_variant variant(const char* name,
                                        int (*launch)(const nf4bench_peer_job*, void*),
                                        uint32_t flags = 0) {
  return {name,    "deceitful", NF4BENCH_PEER_DEQUANTIZE, NF4BENCH_PEER_CUDA, 1, flags, unsupported,
          nullptr, launch};
}

const nf4bench_peer_variant variants[] = {
    variant("half", launch_half_in_graphs),
    variant("skips", launch_where_nothing_is),
    variant("tenth", launch_nine_tenths),
    variant("tires", launch_at_first),
    variant("late", launch_late, NF4BENCH_PEER_NOT_CAPTURABLE),
    variant("swaps", launch_swapped)};

const nf4bench_peer_table table = {NF4BENCH_PEER_ABI, sizeof(nf4bench_peer_variant), 6,
                                   sizeof(nf4bench_peer_table), variants};

}  // namespace

const nf4bench_peer_table* nf4bench_peer_v2(void) {
  return &table;
}
