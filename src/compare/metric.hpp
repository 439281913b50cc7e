#pragma once

#include <cstdint>

namespace nf4bench::compare {

// What of a measurement is compared.
enum class Metric : std::uint8_t {
  kTime,            // median time of a call; less is better
  kSpeedup,         // ratio to the run's baseline variant; more is better
  kFractionOfCopy,  // rate over the run's copy ceiling; more is better
  kEnergy,          // joules of a call; less is better
};

inline constexpr Metric kMetrics[] = {Metric::kTime, Metric::kSpeedup, Metric::kFractionOfCopy,
                                      Metric::kEnergy};

constexpr const char* to_string(Metric metric) {
  return metric == Metric::kTime      ? "time"
         : metric == Metric::kSpeedup ? "speedup"
         : metric == Metric::kEnergy  ? "energy"
                                      : "fraction_of_copy";
}

// Whether less of it is better: then it is its own cost, else the inverse of one.
constexpr bool is_cost(Metric metric) {
  return metric == Metric::kTime || metric == Metric::kEnergy;
}

}  // namespace nf4bench::compare
