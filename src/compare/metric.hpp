#pragma once

#include "base/words.hpp"

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

constexpr auto words(Metric /*any*/) {
  using enum Metric;
  return std::to_array<Word<Metric>>({{kTime, "time"},
                                      {kSpeedup, "speedup"},
                                      {kFractionOfCopy, "fraction_of_copy"},
                                      {kEnergy, "energy"}});
}

struct MetricFacts {
  const char* field;   // of a measurement, as record/leaves.hpp calls it
  bool is_cost;        // less of it is better: it is its own cost, else the inverse of one
  const char* absent;  // what is said of a row without it
};

// In the order of Metric.
inline constexpr MetricFacts kMetricFacts[] = {
    {"time_s.median", true, "has no time"},
    {"speedup.ratio", false, "has no speedup; its baseline was not measured"},
    {"fraction_of_copy", false, "has no fraction of copy; the run measured no ceilings"},
    {"energy.joules", true, "has no energy; the run measured none (--energy)"},
};

constexpr const MetricFacts& facts_of(Metric metric) {
  return kMetricFacts[static_cast<std::size_t>(metric)];
}

constexpr bool is_cost(Metric metric) {
  return facts_of(metric).is_cost;
}

}  // namespace nf4bench::compare
