#pragma once

namespace nf4bench::statistics {

// Quantiles of the distributions that a verdict rests on; `probability` lies in (0, 1).
double normal_quantile(double probability);

// Student's t with `freedom` degrees of freedom, at least 1.
double student_quantile(double probability, int freedom);

// Chi squared with `freedom` degrees of freedom, at least 1.
double chi_squared_quantile(double probability, int freedom);

}  // namespace nf4bench::statistics
