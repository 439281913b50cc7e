// A peer whose kernels do what no kernel should. Small tensors are spared, so that a run has
// something to lose.

#include "nf4bench_peer.h"

namespace {

constexpr int64_t kSpared = 4096;

__global__ void trap() {
  asm("trap;");
}

// Far outside of every allocation.
__global__ void stray(char* output) {
  output[int64_t{1} << 46] = 1;
}

__global__ void misalign(char* output) {
  *reinterpret_cast<volatile int*>(output + 1) = 1;
}

__global__ void never_end(volatile int* output) {
  while (output[0] != 0x7fffffff) __nanosleep(1000);
}

cudaStream_t on(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

int launch_trap(const nf4bench_peer_job*, void* stream) {
  trap<<<1, 1, 0, on(stream)>>>();
  return cudaGetLastError();
}

int launch_stray(const nf4bench_peer_job* job, void* stream) {
  stray<<<1, 1, 0, on(stream)>>>(static_cast<char*>(job->output));
  return cudaGetLastError();
}

int launch_misaligned(const nf4bench_peer_job* job, void* stream) {
  misalign<<<1, 1, 0, on(stream)>>>(static_cast<char*>(job->output));
  return cudaGetLastError();
}

int launch_endless(const nf4bench_peer_job* job, void* stream) {
  never_end<<<1, 1, 0, on(stream)>>>(static_cast<int*>(job->output));
  return cudaGetLastError();
}

// More threads than a block can have: an error of the launch, after which the device is well.
int launch_too_large(const nf4bench_peer_job*, void* stream) {
  trap<<<1, 4096, 0, on(stream)>>>();
  return cudaGetLastError();
}

const char* unsupported(const nf4bench_peer_job* job, const nf4bench_peer_device*) {
  return job->elements <= kSpared ? "spares small tensors" : nullptr;
}

constexpr nf4bench_peer_variant variant(const char* name,
                                        int (*launch)(const nf4bench_peer_job*, void*)) {
  return {name,    "deadly", NF4BENCH_PEER_DEQUANTIZE, NF4BENCH_PEER_CUDA, 1, 0, unsupported,
          nullptr, launch};
}

const nf4bench_peer_variant variants[] = {
    variant("traps", launch_trap), variant("strays", launch_stray),
    variant("misaligned", launch_misaligned), variant("endless", launch_endless),
    variant("too_large", launch_too_large)};

const nf4bench_peer_table table = {NF4BENCH_PEER_ABI, sizeof(nf4bench_peer_variant), 5,
                                   sizeof(nf4bench_peer_table), variants};

}  // namespace

const nf4bench_peer_table* nf4bench_peer_v2(void) {
  return &table;
}
