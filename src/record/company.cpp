#include "record/company.hpp"

#include <cmath>

namespace nf4bench::record {

double cost_of_company(const Measurement& measurement) {
  if (!measurement.alone || !measurement.time_s || measurement.alone->median_s <= 0.0) return 0.0;
  return measurement.time_s->median / measurement.alone->median_s - 1.0;
}

bool depends_on_company(const Measurement& measurement) {
  if (std::abs(cost_of_company(measurement)) <= kSameAlone) return false;
  const std::optional<statistics::Interval>& company = measurement.time_s->ci95;
  const std::optional<statistics::Interval>& alone = measurement.alone->ci95;
  if (!company || !alone) return false;
  return company->low > alone->high || alone->low > company->high;
}

}  // namespace nf4bench::record
