#include "cli/options/compare_choices.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace nf4bench::cli {

std::vector<std::string> metric_words() {
  std::vector<std::string> words;
  for (const compare::Metric metric : compare::kMetrics) words.emplace_back(to_string(metric));
  return words;
}

std::vector<std::string> comparison_formats() {
  return {"table", "markdown", "html"};
}

compare::Metric parse_metric(const std::string& word) {
  for (const compare::Metric metric : compare::kMetrics) {
    if (word == to_string(metric)) return metric;
  }
  throw Error(
      ErrorKind::kUsage,
      fmt::format("--metric: \"{}\" is not one of time, speedup, fraction_of_copy, energy.{}",
                  escaped(word), did_you_mean(word, metric_words())));
}

std::set<std::string> measured_variants(const record::Report& report) {
  std::set<std::string> names;
  for (const record::Measurement& row : report.measurements) names.insert(row.variant);
  return names;
}

void check_variant_patterns(const std::vector<std::string>& patterns,
                            const std::set<std::string>& measured) {
  const std::vector<std::string> names(measured.begin(), measured.end());
  for (const std::string& pattern : patterns) {
    const auto matches = [&](const std::string& name) { return matches_wildcard(pattern, name); };
    if (names.empty() || std::any_of(names.begin(), names.end(), matches)) continue;
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--variant: \"{}\" is none of those in the reports: {}.{}", escaped(pattern),
                    fmt::join(names, ", "), did_you_mean(pattern, names)));
  }
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

}  // namespace nf4bench::cli
