#pragma once

#include "record/measurement.hpp"

namespace nf4bench::record {

// Two medians that differ by less than this are taken for the same, however narrow their intervals:
// processes that start anew differ by so much.
inline constexpr double kSameAlone = 0.01;

// How much longer a variant takes in company than alone, as a fraction; 0 when it was not measured
// alone.
double cost_of_company(const Measurement& measurement);

// Whether the median in company differs from the one alone by more than kSameAlone, and so much
// that their intervals do not meet. Not if the cycles (median x mean clock, where both clocks are
// known) differ by less: then the clock has changed, as heat and power make it, not the variant.
bool depends_on_company(const Measurement& measurement);

}  // namespace nf4bench::record
