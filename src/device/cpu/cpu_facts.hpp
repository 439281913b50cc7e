#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::device {

// The processor's name for people; its architecture where the system tells no more.
std::string cpu_name();

// The processors that this process may run on.
std::vector<int> allowed_processors();

// Bytes of the last-level caches that serve the processors this process may run on, all together.
// 32 MiB when the system does not say.
std::int64_t last_level_cache_bytes();

// Bytes of memory that the machine has, and that a program could get now without swapping.
std::int64_t physical_memory_bytes();
std::int64_t available_memory_bytes();

}  // namespace nf4bench::device
