#include "cli/compare_choices.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/choices.hpp"

#include <fmt/format.h>

#include <charconv>
#include <vector>

namespace nf4bench {

Metric parse_metric(const std::string& word) {
  std::vector<std::string> names;
  for (const Metric metric : kMetrics) {
    if (word == to_string(metric)) return metric;
    names.emplace_back(to_string(metric));
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("--metric: \"{}\" is not one of time, speedup, fraction_of_copy.{}",
                          escaped(word), did_you_mean(word, names)));
}

std::optional<double> parse_fraction(const char* option, const std::string& word) {
  if (word.empty()) return std::nullopt;
  const bool is_percent = word.back() == '%';
  const char* last = word.data() + word.size() - (is_percent ? 1 : 0);
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), last, value);
  if (is_percent) value /= 100.0;
  if (error != std::errc() || end != last || !(value > 0.0 && value < 1.0)) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("{}: found \"{}\", wanted a fraction above 0 and below 1, as 0.02 or 2%",
                    option, escaped(word)));
  }
  return value;
}

}  // namespace nf4bench
