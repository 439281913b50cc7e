#pragma once

#include "device/executor.hpp"

#include <memory>

namespace nf4bench::device {

// Calls run on `threads` threads, and a steady clock times them.
std::unique_ptr<Executor> make_cpu_executor(int threads);

}  // namespace nf4bench::device
