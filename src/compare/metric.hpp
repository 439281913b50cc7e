#pragma once

#include <cstdint>

namespace nf4bench::compare {

// What of a measurement is compared.
enum class Metric : std::uint8_t {
  kTime,            // median time of a call; less is better
  kSpeedup,         // ratio to the run's baseline variant; more is better
  kFractionOfCopy,  // rate over the run's copy ceiling; more is better
};

inline constexpr Metric kMetrics[] = {Metric::kTime, Metric::kSpeedup, Metric::kFractionOfCopy};

constexpr const char* to_string(Metric metric) {
  return metric == Metric::kTime      ? "time"
         : metric == Metric::kSpeedup ? "speedup"
                                      : "fraction_of_copy";
}

}  // namespace nf4bench::compare
