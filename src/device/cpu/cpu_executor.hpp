#pragma once

#include "device/cpu/cpu_memory.hpp"
#include "device/executor.hpp"

#include <memory>

namespace nf4bench::device {

// Calls on buffers in `memory`, which outlives it, run on `threads` threads, and a steady clock
// times them.
std::unique_ptr<Executor> make_cpu_executor(int threads, CpuMemory& memory = cpu_memory());

}  // namespace nf4bench::device
