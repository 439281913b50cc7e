#include "backend.hpp"

#include <cuda_runtime_api.h>

namespace nf4bench::lib {
namespace {

// What cudaGetLastError() would say of the next launch if it were left there.
nf4_status forget(nf4_status status) {
  cudaGetLastError();
  return status;
}

bool ask(int& value, cudaDeviceAttr attribute, int ordinal) {
  return cudaDeviceGetAttribute(&value, attribute, ordinal) == cudaSuccess;
}

nf4_status query(std::int32_t ordinal, nf4_device& device) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return forget(NF4_NO_DEVICE);
  if (ordinal < 0 || ordinal >= count) return NF4_NO_DEVICE;
  int major = 0;
  int minor = 0;
  int l2_bytes = 0;
  if (!ask(major, cudaDevAttrComputeCapabilityMajor, ordinal) ||
      !ask(minor, cudaDevAttrComputeCapabilityMinor, ordinal) ||
      !ask(device.multiprocessors, cudaDevAttrMultiProcessorCount, ordinal) ||
      !ask(l2_bytes, cudaDevAttrL2CacheSize, ordinal)) {
    return forget(NF4_NO_DEVICE);
  }
  device.compute_capability = 10 * major + minor;
  device.l2_bytes = l2_bytes;
  return NF4_OK;
}

// Asked once a thread and device: what it says does not change.
nf4_status current(nf4_device& device) {
  thread_local nf4_device known = {};
  int ordinal = 0;
  if (cudaGetDevice(&ordinal) != cudaSuccess) return forget(NF4_NO_DEVICE);
  if (known.struct_bytes == 0 || known.ordinal != ordinal) {
    known = {};
    const nf4_status status = query(ordinal, known);
    if (status != NF4_OK) return status;
    known.struct_bytes = sizeof(known);
    known.kind = NF4_CUDA;
    known.ordinal = ordinal;
  }
  device = known;
  return NF4_OK;
}

// The least that the kernels are compiled for, and more than any device has.
constexpr std::int32_t kLeastCapability = 75;
constexpr std::int32_t kMostMultiprocessors = 4096;

nf4_status read(const nf4_device& device, kernels::DeviceFacts& facts) {
  if (device.multiprocessors < 1 || device.multiprocessors > kMostMultiprocessors) {
    return NF4_INVALID_ARGUMENT;
  }
  if (device.compute_capability < kLeastCapability) return NF4_UNSUPPORTED;
  facts = {.compute_capability = device.compute_capability,
           .multiprocessors = device.multiprocessors,
           .l2_bytes = device.l2_bytes};
  return NF4_OK;
}

// A stream of another device is the launch's to refuse.
nf4_status admit(const nf4_device& device, void*) {
  int current = 0;
  if (cudaGetDevice(&current) != cudaSuccess) return forget(NF4_NO_DEVICE);
  return current == device.ordinal ? NF4_OK : NF4_INVALID_ARGUMENT;
}

nf4_status result() {
  return cudaGetLastError() == cudaSuccess ? NF4_OK : NF4_LAUNCH_FAILED;
}

}  // namespace

const Backend* cuda_backend() {
  static constexpr Backend kBackend = {
      kernels::cuda::own_kernels, query, current, read, admit, result};
  return &kBackend;
}

}  // namespace nf4bench::lib
