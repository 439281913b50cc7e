#include "gpu/held_device.hpp"

#include <cuda_runtime.h>

namespace nf4bench {
namespace {

// One block a multiprocessor, by the shared memory that it takes.
__global__ void occupy(int* occupied, const volatile int* released) {
  atomicAdd_system(occupied, 1);
  while (*released <= static_cast<int>(blockIdx.x)) __nanosleep(1000);
}

}  // namespace

HeldDevice::HeldDevice() {
  int device = 0;
  int bytes = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device);
  void* memory = nullptr;
  cudaMallocHost(&memory, sizeof(Counts));
  auto* counts = static_cast<Counts*>(memory);
  *counts = {};
  counts_ = counts;
  cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  occupy<<<multiprocessors_, 1, bytes, stream_>>>(&counts->occupied, &counts->released);
  while (counts_->occupied < multiprocessors_ && cudaPeekAtLastError() == cudaSuccess) {
  }
}

HeldDevice::~HeldDevice() {
  release_all();
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
  cudaFreeHost(const_cast<Counts*>(counts_));
}

void HeldDevice::release(int multiprocessors) {
  counts_->released = multiprocessors;
}

}  // namespace nf4bench
