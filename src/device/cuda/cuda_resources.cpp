#include "device/cuda/cuda_resources.hpp"

#include "base/error.hpp"

namespace nf4bench::device {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

}  // namespace

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw Error(ErrorKind::kDevice, explain_failed_call(what, problem_of(status)));
}

CudaProblem problem_of(cudaError_t status) {
  return {cudaGetErrorName(status), cudaGetErrorString(status)};
}

void* allocate_device_memory(std::int64_t bytes) {
  void* pointer = nullptr;
  const cudaError_t status = cudaMalloc(&pointer, static_cast<std::size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0;
    std::size_t total = 0;
    cudaMemGetInfo(&free, &total);
    throw Error(ErrorKind::kDevice,
                "out of device memory: {:.1f} MiB wanted, {:.1f} of {:.1f} MiB free; close other "
                "programs on the GPU or choose smaller tensors (--tensor)",
                static_cast<double>(bytes) / kMebibyte, static_cast<double>(free) / kMebibyte,
                static_cast<double>(total) / kMebibyte);
  }
  check_cuda(status, "allocate device memory");
  return pointer;
}

std::size_t l2_set_aside() {
  std::size_t bytes = 0;
  const cudaError_t status = cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize);
  if (status == cudaErrorUnsupportedLimit) {  // before Ampere no lines persist
    cudaGetLastError();
    return 0;
  }
  check_cuda(status, "ask for the part of L2 that is set aside");
  return bytes;
}

bool restore_l2_set_aside(std::size_t bytes) {
  if (l2_set_aside() == bytes) return false;
  check_cuda(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, bytes),
             "set back the part of L2 that is set aside");
  return true;
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  void* pointer = nullptr;
  check_cuda(cudaHostAlloc(&pointer, bytes, cudaHostAllocMapped), "allocate page-locked memory");
  memory_.reset(pointer);
}

CudaStream::CudaStream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
  stream_.reset(stream);
}

CudaEvent::CudaEvent() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "create an event");
  event_.reset(event);
}

void wait_for_device() {
  check_cuda(cudaDeviceSynchronize(), "wait for the device");
}

double seconds_between(const CudaEvent& start, const CudaEvent& stop) {
  float milliseconds = 0.0f;
  check_cuda(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()), "read the event timer");
  return static_cast<double>(milliseconds) * 1e-3;
}

void CudaGraph::begin_capture(const CudaStream& stream) {
  check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
             "begin capturing a graph");
}

void CudaGraph::abandon_capture(const CudaStream& stream) {
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream.get(), &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
}

void CudaGraph::end_capture(const CudaStream& stream) {
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream.get(), &graph), "capture a graph");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(status, "instantiate a graph");
  graph_.reset(executable);
  check_cuda(cudaGraphUpload(executable, stream.get()), "upload a graph");
}

}  // namespace nf4bench::device
