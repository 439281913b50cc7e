#include "backend.hpp"

#include <algorithm>
#include <sched.h>
#include <thread>
#include <unistd.h>

namespace nf4bench::lib {
namespace {

// The affinity mask counts what taskset, cgroups and batch systems left to this process.
std::int32_t hardware_threads() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return CPU_COUNT(&allowed);
  return static_cast<std::int32_t>(std::max(1u, std::thread::hardware_concurrency()));
}

std::int64_t last_level_cache_bytes() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = sysconf(level);
    if (bytes > 0) return bytes;
  }
#endif
  return 0;
}

nf4_status query(std::int32_t ordinal, nf4_device& device) {
  if (ordinal != 0) return NF4_NO_DEVICE;
  device.multiprocessors = hardware_threads();
  device.l2_bytes = last_level_cache_bytes();
  return NF4_OK;
}

nf4_status current(nf4_device& device) {
  device = {};
  device.struct_bytes = sizeof(device);
  device.kind = NF4_CPU;
  return query(0, device);
}

nf4_status read(const nf4_device& device, kernels::DeviceFacts& facts) {
  if (device.ordinal != 0 || device.multiprocessors < 1) return NF4_INVALID_ARGUMENT;
  static const auto processors =
      static_cast<std::int32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  facts = {.multiprocessors = std::min(device.multiprocessors, processors),
           .l2_bytes = device.l2_bytes};
  return NF4_OK;
}

nf4_status admit(const nf4_device&, void* stream) {
  return stream == nullptr ? NF4_OK : NF4_INVALID_ARGUMENT;
}

nf4_status result() {
  return NF4_OK;
}

}  // namespace

const Backend& cpu_backend() {
  static constexpr Backend kBackend = {
      kernels::cpu::own_kernels, query, current, read, admit, result};
  return kBackend;
}

}  // namespace nf4bench::lib
