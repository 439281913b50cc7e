#include "record/company.hpp"

#include "record/sample_digest.hpp"

#include <cmath>

namespace nf4bench::record {
namespace {

// cost_of_company() in cycles of the multiprocessors; nothing unless both clocks are known.
std::optional<double> cost_in_cycles(const Measurement& measurement) {
  const std::optional<double> company = mean_clock_hz(measurement);
  const std::optional<double>& alone = measurement.alone->sm_clock_hz;
  if (!company || !alone || *alone <= 0.0) return std::nullopt;
  return (1.0 + cost_of_company(measurement)) * (*company / *alone) - 1.0;
}

}  // namespace

double cost_of_company(const Measurement& measurement) {
  if (!measurement.alone || !measurement.time_s || measurement.alone->median_s <= 0.0) return 0.0;
  return measurement.time_s->median / measurement.alone->median_s - 1.0;
}

bool depends_on_company(const Measurement& measurement) {
  if (std::abs(cost_of_company(measurement)) <= kSameAlone) return false;
  if (std::abs(cost_in_cycles(measurement).value_or(1.0)) <= kSameAlone) return false;
  const std::optional<statistics::Interval>& company = measurement.time_s->ci95;
  const std::optional<statistics::Interval>& alone = measurement.alone->ci95;
  if (!company || !alone) return false;
  return company->low > alone->high || alone->low > company->high;
}

}  // namespace nf4bench::record
