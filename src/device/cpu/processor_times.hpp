#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace nf4bench::device {

// Time that some processors have spent since the system started, in ticks.
struct ProcessorTimes {
  double busy = 0.0;
  double stolen = 0.0;  // the processor was another virtual machine's
  double total = 0.0;
};

// Reads below `root`, "/" but for tests, for the processors with the numbers `processors`; absent
// when the system does not tell for each of them.
std::optional<ProcessorTimes> read_processor_times(const std::filesystem::path& root,
                                                   const std::vector<int>& processors);

// The processors that this process may run on.
std::vector<int> allowed_processors();

}  // namespace nf4bench::device
