#pragma once

#include "device/memory.hpp"

#include <cstdint>

namespace nf4bench::device {

// The host's own memory. It knows its blocks, so that they can be taken out of the caches.
Memory& cpu_memory();

// True when all buffers together are so small that evict_cpu_buffers() is quick, and the processor
// can do it. Then a rotation may be smaller than the caches.
bool can_evict_cpu_buffers();

// Takes all buffers out of the caches of all processors.
void evict_cpu_buffers();

}  // namespace nf4bench::device
