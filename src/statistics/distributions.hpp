#pragma once

#include <cstddef>

namespace nf4bench::statistics {

// Quantiles of the distributions that a verdict rests on; `probability` lies in (0, 1).
double normal_quantile(double probability);

// Student's t with `freedom` degrees of freedom, at least 1.
double student_quantile(double probability, int freedom);

// Chi squared with `freedom` degrees of freedom, at least 1.
double chi_squared_quantile(double probability, int freedom);

// The chance that at least `ups` of `count` fair coins show heads: how likely it is that a thing
// lies above the median in so many of `count` cases and is like the others all the same.
double sign_test(std::size_t ups, std::size_t count);

}  // namespace nf4bench::statistics
