#pragma once

#include <cstdint>
#include <functional>

namespace nf4bench {

// Threads that parallel_for() uses at most.
int hardware_threads();

// Calls body(first, last) for disjoint ranges that cover [0, count), from several threads; each
// range starts at a multiple of `grain`. For host preparation work, never inside a measurement.
// An exception from `body` is rethrown here.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& body);

}  // namespace nf4bench
