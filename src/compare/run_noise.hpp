#pragma once

#include "record/device_info.hpp"

#include <cstdint>
#include <string>

namespace nf4bench::compare {

// Whose runs are compared.
enum class Spread : std::uint8_t {
  kOneDevice,
  kSeveralDevices,  // of one model, or more different still
};

// How much the median of an unchanged cell differs from run to run: its relative standard
// deviation, and where that number comes from.
struct RunNoise {
  double relative = 0.0;
  std::string origin;
};

// What was measured, see docs/method.md.
RunNoise measured_noise(record::DeviceKind kind, Spread spread);

// A change smaller than this many times the run-to-run noise is not worth a verdict. Two single
// runs of the same code differ by more in less than 0.5 % of all cases.
inline constexpr double kThresholdInNoise = 4.0;

}  // namespace nf4bench::compare
