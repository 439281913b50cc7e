#pragma once

#include <cstdint>

namespace nf4bench {

// Bytes of memory that this process can ever have: the machine's, or less where a control group (as
// of a container) or a limit of the process allows less.
std::int64_t usable_memory_bytes();

}  // namespace nf4bench
