#include "statistics/distributions.hpp"

#include <cmath>
#include <numbers>

namespace nf4bench::statistics {
namespace {

// P(T > t) for t >= 0. For whole degrees of freedom the integral is a finite sum of powers of
// cos^2 of the angle atan(t / sqrt(freedom)).
double student_tail(double t, int freedom) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double cosine_squared = std::cos(angle) * std::cos(angle);
  double sum = 0.0;
  double term = freedom % 2 == 0 ? std::sin(angle) : std::sin(angle) * std::cos(angle);
  for (int power = 2 + freedom % 2; power <= freedom; power += 2) {
    sum += term;
    term *= cosine_squared * (power - 1.0) / power;
  }
  const double inside =
      freedom % 2 == 0 ? sum : (angle + sum) * 2.0 / std::numbers::pi;  // P(|T| < t)
  return (1.0 - inside) / 2.0;
}

// P(X > x), again a finite sum for whole degrees of freedom.
double chi_squared_tail(double x, int freedom) {
  const double half = x / 2.0;
  const bool is_even = freedom % 2 == 0;
  double tail = is_even ? 0.0 : std::erfc(std::sqrt(half));
  double term =
      is_even ? std::exp(-half) : std::exp(-half) * 2.0 * std::sqrt(half / std::numbers::pi);
  for (int power = is_even ? 2 : 3; power <= freedom; power += 2) {
    tail += term;
    term *= x / power;
  }
  return tail;
}

// The x >= 0 at which the falling function `tail` has the value `wanted`.
template <typename Tail>
double solve_tail(Tail tail, double wanted) {
  double low = 0.0;
  double high = 1.0;
  while (tail(high) > wanted && high < 1e300) high *= 2.0;
  for (int step = 0; step < 200; ++step) {
    const double middle = low + (high - low) / 2.0;
    (tail(middle) > wanted ? low : high) = middle;
  }
  return high;
}

// The quantile of a distribution that is symmetric about zero.
template <typename Tail>
double symmetric_quantile(double probability, Tail tail) {
  if (probability < 0.5) return -solve_tail(tail, probability);
  return solve_tail(tail, 1.0 - probability);
}

}  // namespace

double normal_quantile(double probability) {
  return symmetric_quantile(probability,
                            [](double x) { return std::erfc(x / std::numbers::sqrt2) / 2.0; });
}

double student_quantile(double probability, int freedom) {
  return symmetric_quantile(probability, [&](double t) { return student_tail(t, freedom); });
}

double chi_squared_quantile(double probability, int freedom) {
  return solve_tail([&](double x) { return chi_squared_tail(x, freedom); }, 1.0 - probability);
}

// Summed in logarithms, so that 2^-count does not underflow.
double sign_test(std::size_t ups, std::size_t count) {
  const auto n = static_cast<double>(count);
  double log_term = -n * std::log(2.0);  // of exactly j heads, j = 0
  double tail = 0.0;
  for (std::size_t j = 0; j <= count; ++j) {
    if (j >= ups) tail += std::exp(log_term);
    log_term += std::log(n - static_cast<double>(j)) - std::log(static_cast<double>(j) + 1.0);
  }
  return tail;
}

}  // namespace nf4bench::statistics
