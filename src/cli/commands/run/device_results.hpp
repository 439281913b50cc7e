#pragma once

#include "bench/device_runs.hpp"
#include "text/page.hpp"

#include <optional>
#include <string>
#include <vector>

namespace nf4bench::cli {

// A line for each device.
std::string results_table(const std::vector<bench::DeviceResult>& results,
                          const text::Style& style);

// The same for devices that were measured at the same time and alone, in the same order: how much
// longer they take together.
std::string together_table(const std::vector<bench::DeviceResult>& together,
                           const std::vector<bench::DeviceResult>& alone, const text::Style& style);

}  // namespace nf4bench::cli
