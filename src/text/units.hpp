#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::text {

// How the times of one block of a table are written: one unit, one number of decimals, so that
// their decimal points stand in line.
struct TimeScale {
  const char* unit = "s";
  double seconds = 1.0;  // per unit
  int decimals = 3;
};

// The scale that gives the shortest of `times_s` three significant digits or more.
TimeScale time_scale(const std::vector<double>& times_s);

// "36.52 us"
std::string format_time(double time_s, const TimeScale& scale);

// Three significant digits: "1.24 mJ", "860 nJ", "3.10 J".
std::string format_energy(double joules);

// Bytes a second in units of 1e9: "4068", "73.4", "0.81".
std::string format_gigabytes(double bytes_per_s);

// A rate in units of 1e12, three significant digits: "654", "12.3", "0.0456".
std::string format_tera(double per_s);

// "95.0" for 0.95.
std::string format_percent(double fraction);

// Few decimals for what is large: "+5.2 %", "-0.1 %", "+812 %".
std::string format_change(double relative);

// "[+4.9, +5.5]", in percent
std::string format_change_interval(double low, double high);

// Three significant digits of what happens so often a second: "932", "11.2", "0.35".
std::string format_rate(double per_s);

// Four significant digits, at most three decimals: "3.371x", "12.35x", "0.052x".
std::string format_ratio(double ratio);

// "[3.352, 3.391]"
std::string format_ratio_interval(double low, double high);

// "512 B", "40.3 MiB", "79.6 GiB": a unit from ten of it on.
std::string format_size(std::int64_t bytes);

// For people who wait: "0.3 s", "12 s", "3 min 20 s", "1 h 02 min". Below zero is zero.
std::string format_duration(double seconds);

// A count with its noun: "1 tensor", "12 tensors".
std::string format_count(long long count, const std::string& noun);

}  // namespace nf4bench::text
