#include "backend.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdlib>

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

// Bytes a second of the devices that were asked about, which nf4_device has no room for; 0: not
// known.
std::array<std::atomic<double>, 64> memory_rates = {};

std::atomic<double>* memory_rate(std::int32_t ordinal) {
  const bool has_one = ordinal >= 0 && ordinal < static_cast<std::int32_t>(memory_rates.size());
  return has_one ? &memory_rates[static_cast<std::size_t>(ordinal)] : nullptr;
}

// Two transfers a clock.
void note_memory_rate(std::int32_t ordinal) {
  std::atomic<double>* const rate = memory_rate(ordinal);
  int clock_khz = 0;
  int width_bits = 0;
  if (rate == nullptr || !ask(clock_khz, cudaDevAttrMemoryClockRate, ordinal) ||
      !ask(width_bits, cudaDevAttrGlobalMemoryBusWidth, ordinal)) {
    forget(NF4_OK);
    return;
  }
  *rate = 2.0 * clock_khz * 1e3 * width_bits / 8;
}

constexpr int kLeastCapability = 75;  // that the kernels are compiled for

// Lets an older architecture stand in for the card's own: a library of that one's PTX alone, which
// the driver compiles for this card, is tried with it.
int capability_told(int of_the_card) {
  const char* const told = std::getenv("NF4_COMPUTE_CAPABILITY");
  const int capability = told == nullptr ? 0 : std::atoi(told);
  return capability >= kLeastCapability && capability < of_the_card ? capability : of_the_card;
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
  device.compute_capability = capability_told(10 * major + minor);
  device.l2_bytes = l2_bytes;
  note_memory_rate(ordinal);
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

// More than any device has.
constexpr std::int32_t kMostMultiprocessors = 4096;

nf4_status read(const nf4_device& device, kernels::DeviceFacts& facts) {
  if (device.multiprocessors < 1 || device.multiprocessors > kMostMultiprocessors) {
    return NF4_INVALID_ARGUMENT;
  }
  if (device.compute_capability < kLeastCapability) return NF4_UNSUPPORTED;
  const std::atomic<double>* const rate = memory_rate(device.ordinal);
  facts = {.compute_capability = device.compute_capability,
           .multiprocessors = device.multiprocessors,
           .l2_bytes = device.l2_bytes,
           .memory_bytes_per_s = rate == nullptr ? 0.0 : rate->load()};
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
