#pragma once

#include "device/cpu/processor_times.hpp"
#include "record/measurement.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace nf4bench::device {

// The processors and this process at one moment, in time since they began.
struct LoadReading {
  int processors = 0;  // that this process may run on
  std::optional<ProcessorTimes> times;
  double own_ticks = 0.0;  // of all threads of this process
  std::int64_t involuntary_switches = 0;
};

// Reads below `root`, "/" but for tests. Of other processes that work for this one, their processor
// time so far counts as its own.
LoadReading read_load(const std::filesystem::path& root = "/", double seconds_of_others = 0.0);

// What happened between two readings; absent where the system does not tell, or no tick has passed.
std::optional<record::HostLoad> load_between(const LoadReading& start, const LoadReading& end);

}  // namespace nf4bench::device
