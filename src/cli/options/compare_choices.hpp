#pragma once

#include "compare/metric.hpp"
#include "report/report.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nf4bench::cli {

// Turns words that "compare" and "history" share into values. All throw Error(kUsage).

std::vector<std::string> metric_words();

// Of the text that compare prints.
std::vector<std::string> comparison_formats();

compare::Metric parse_metric(const std::string& word);

std::set<std::string> measured_variants(const record::Report& report);

// Checks that each pattern of --variant matches one of `measured`, unless that is empty.
void check_variant_patterns(const std::vector<std::string>& patterns,
                            const std::set<std::string>& measured);

// A fraction above 0 and below 1: "0.02" or "2%"; none when `word` is empty.
std::optional<double> parse_fraction(const char* option, const std::string& word);

}  // namespace nf4bench::cli
