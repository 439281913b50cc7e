#pragma once

#include <cstddef>
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

struct MetricFacts {
  const char* name;
  const char* field;   // of a measurement, as record/leaves.hpp calls it
  bool is_cost;        // less of it is better: it is its own cost, else the inverse of one
  const char* absent;  // what is said of a row without it
};

// In the order of Metric.
inline constexpr MetricFacts kMetricFacts[] = {
    {"time", "time_s.median", true, "has no time"},
    {"speedup", "speedup.ratio", false, "has no speedup; its baseline was not measured"},
    {"fraction_of_copy", "fraction_of_copy", false,
     "has no fraction of copy; the run measured no ceilings"},
    {"energy", "energy.joules", true, "has no energy; the run measured none (--energy)"},
};

constexpr const MetricFacts& facts_of(Metric metric) {
  return kMetricFacts[static_cast<std::size_t>(metric)];
}

constexpr const char* to_string(Metric metric) {
  return facts_of(metric).name;
}

constexpr bool is_cost(Metric metric) {
  return facts_of(metric).is_cost;
}

}  // namespace nf4bench::compare
