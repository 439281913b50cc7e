#pragma once

#include "device/cpu/shared_arena.hpp"
#include "device/memory.hpp"

#include <memory>

namespace nf4bench::device {

// The host's memory. It knows its blocks, so that they can be taken out of the caches.
class CpuMemory : public Memory {
 public:
  // True when all buffers together are so small that evict_all() is quick, and the processor can do
  // it. Then a rotation may be smaller than the caches.
  virtual bool can_evict_all() const = 0;

  // Takes all buffers out of the caches of all processors.
  virtual void evict_all() const = 0;
};

// Memory of this process alone.
CpuMemory& cpu_memory();

// Memory that other processes see, too. Borrows `buffers`.
std::unique_ptr<CpuMemory> shared_cpu_memory(SharedArenas& buffers);

}  // namespace nf4bench::device
