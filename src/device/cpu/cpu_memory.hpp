#pragma once

#include "device/memory.hpp"

namespace nf4bench::device {

// The host's own memory. Has no state.
Memory& cpu_memory();

}  // namespace nf4bench::device
