#pragma once

#include <cstdint>

namespace nf4bench {

// Bytes of memory that this process can have at most: all of the machine's, unless a control group
// (such as a container's) or a limit of the process allows less.
std::int64_t usable_memory_bytes();

}  // namespace nf4bench
