#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

// A change in percent without the sign behind it.
std::string change_digits(double relative) {
  const double percent = 100.0 * relative;
  return fmt::format("{:+.{}f}", percent, std::abs(percent) < 99.95 ? 1 : 0);
}

}  // namespace

TimeScale time_scale(const std::vector<double>& times_s) {
  constexpr TimeScale kUnits[] = {{"ns", 1e-9, 0}, {"us", 1e-6, 0}, {"ms", 1e-3, 0}, {"s", 1.0, 0}};
  if (times_s.empty()) return {};
  const auto [shortest, longest] = std::ranges::minmax_element(times_s);
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

std::string format_tera(double per_s) {
  const double tera = per_s / 1e12;
  const int decimals = tera >= 100.0 ? 0 : tera >= 10.0 ? 1 : tera >= 1.0 ? 2 : 4;
  return fmt::format("{:.{}f}", tera, decimals);
}

std::string format_percent(double fraction) {
  return fmt::format("{:.1f}", 100.0 * fraction);
}

std::string format_change(double relative) {
  return change_digits(relative) + " %";
}

std::string format_change_interval(double low, double high) {
  return fmt::format("[{}, {}]", change_digits(low), change_digits(high));
}

std::string format_rate(double per_s) {
  return fmt::format("{:.{}f}", per_s, per_s >= 100.0 ? 0 : per_s >= 10.0 ? 1 : 2);
}

std::string format_ratio(double ratio) {
  return ratio_digits(ratio) + "x";
}

std::string format_ratio_interval(double low, double high) {
  return fmt::format("[{}, {}]", ratio_digits(low), ratio_digits(high));
}

std::string format_size(std::int64_t bytes) {
  const auto in = [&](int shift) {
    return static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << shift);
  };
  if (bytes < 10 << 10) return fmt::format("{} B", bytes);
  if (bytes < 10 << 20) return fmt::format("{:.1f} KiB", in(10));
  if (bytes < std::int64_t{10} << 30) return fmt::format("{:.1f} MiB", in(20));
  return fmt::format("{:.1f} GiB", in(30));
}

std::string format_duration(double seconds) {
  constexpr double kLongest = 1e12;  // that an integer is sure to hold
  constexpr double kTenths = 9.95;   // from here on, tenths would be written as 10.0
  const double known = std::min(kLongest, std::max(0.0, seconds));
  if (known < kTenths) return fmt::format("{:.1f} s", known);
  const std::int64_t whole = std::llround(known);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const std::int64_t minutes = std::llround(known / 60.0);
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string format_energy(double joules) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {1.0, "J"}, {1e-3, "mJ"}, {1e-6, "uJ"}, {1e-9, "nJ"}};
  for (const auto& [unit, name] : kUnits) {
    const double value = joules / unit;
    if (value < 0.9995 && unit > 1e-9) continue;
    const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f} {}", value, decimals, name);
  }
  return "";
}

std::string format_count(long long count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace nf4bench::text
