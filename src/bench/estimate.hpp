#pragma once

#include "bench/runner.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::bench {

// What a run will be made of and cost, as far as that is known before it. Times are rough: how fast
// a variant is, only the run can tell.
struct RunEstimate {
  std::int64_t measurements = 0;        // rows of the report
  std::int64_t not_measured = 0;        // of these: variants that cannot run there
  std::vector<std::string> exclusions;  // "NAME: why", each once
  std::int64_t verifications = 0;       // tensors compared, times their output types
  std::int64_t device_bytes = 0;        // memory of the device at most
  std::int64_t host_bytes = 0;          // memory of the program at most, the CPU device's included
  double least_s = 0.0;
  double most_s = 0.0;
};

// What runs after each other take: counts and times add up, memory is that of the largest.
RunEstimate operator+(RunEstimate first, const RunEstimate& second);

// The options are settled: launch modes and baseline are those of the run.
RunEstimate estimate_run(const RunRequest& request);

// What these variants prepare for one buffer set, together, as far as that is less than the weight
// decoded.
std::int64_t prepared_bytes(const std::vector<plan::SelectedVariant>& variants,
                            const kernels::Problem& problem);

// Bytes that the buffers of one tensor take on the device at most, all sets for cold samples
// included.
std::int64_t buffer_bytes(const RunRequest& request, const plan::TensorSource& source);

}  // namespace nf4bench::bench
