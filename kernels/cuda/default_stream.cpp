#include "cuda/default_stream.hpp"

#include <cuda_runtime_api.h>

namespace nf4bench::kernels::cuda {
namespace {

// The event is freed once `later` has passed it.
void order(cudaStream_t earlier, cudaStream_t later) {
  cudaEvent_t event = nullptr;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) return;
  cudaEventRecord(event, earlier);
  cudaStreamWaitEvent(later, event, 0);
  cudaEventDestroy(event);
}

}  // namespace

void default_stream_waits_for(CUstream_st* stream) {
  order(stream, cudaStreamLegacy);
}

void wait_for_default_stream(CUstream_st* stream) {
  order(cudaStreamLegacy, stream);
}

}  // namespace nf4bench::kernels::cuda
