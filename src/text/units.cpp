#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nf4bench::text {
namespace {

// Decimals that leave four significant digits, and three at most.
int decimals_for(double value) {
  if (value < 10.0) return 3;
  if (value < 100.0) return 2;
  return value < 1000.0 ? 1 : 0;
}

// The same without the "x" behind it.
std::string ratio_digits(double ratio) {
  return fmt::format("{:.{}f}", ratio, decimals_for(ratio));
}

}  // namespace

TimeScale time_scale(const std::vector<double>& times_s) {
  constexpr TimeScale kUnits[] = {{"ns", 1e-9, 0}, {"us", 1e-6, 0}, {"ms", 1e-3, 0}, {"s", 1.0, 0}};
  if (times_s.empty()) return {};
  const auto [shortest, longest] = std::minmax_element(times_s.begin(), times_s.end());
  TimeScale scale = kUnits[0];
  for (const TimeScale& unit : kUnits) {
    if (*longest >= unit.seconds && *shortest >= 0.5 * unit.seconds) scale = unit;
  }
  scale.decimals = decimals_for(*shortest / scale.seconds);
  return scale;
}

std::string format_time(double time_s, const TimeScale& scale) {
  return fmt::format("{:.{}f} {}", time_s / scale.seconds, scale.decimals, scale.unit);
}

std::string format_gigabytes(double bytes_per_s) {
  const double gigabytes = bytes_per_s / 1e9;
  return fmt::format("{:.{}f}", gigabytes, gigabytes < 10.0 ? 2 : gigabytes < 100.0 ? 1 : 0);
}

std::string format_percent(double fraction) {
  return fmt::format("{:.1f}", 100.0 * fraction);
}

std::string format_ratio(double ratio) {
  return ratio_digits(ratio) + "x";
}

std::string format_ratio_interval(double low, double high) {
  return fmt::format("[{}, {}]", ratio_digits(low), ratio_digits(high));
}

std::string format_count(long long count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace nf4bench::text
