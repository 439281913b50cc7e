#include "compare/run_noise.hpp"

namespace nf4bench::compare {

RunNoise measured_noise(record::DeviceKind kind, Spread spread) {
  if (kind == record::DeviceKind::kCpu) {
    return {.relative = 0.05, .origin = "a CPU with nothing else to do; a busy one needs more"};
  }
  if (spread == Spread::kSeveralDevices) {
    return {.relative = 0.01, .origin = "cold graph medians on several H200"};
  }
  return {.relative = 0.005, .origin = "cold graph medians on one H200"};
}

}  // namespace nf4bench::compare
