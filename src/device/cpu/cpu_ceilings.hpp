#pragma once

#include "device/cpu/cpu_memory.hpp"
#include "device/device.hpp"

namespace nf4bench::device {

// The best rates at which `threads` threads copy and write `memory`, over buffers that no cache of
// `cache_bytes` holds.
record::Ceilings measure_cpu_ceilings(int threads, std::int64_t cache_bytes, CpuMemory& memory);

}  // namespace nf4bench::device
