#pragma once

// What the table, the Markdown and the page of a judged fleet say in the same words.

#include "fleet/analysis.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

namespace nf4bench::fleet {

// A logarithm of a ratio as a change: 0.02 is 2 % slower.
std::optional<double> relative(const std::optional<double>& log);

// The same as text, "+1.5 %"; empty when it is not known.
std::string log_percent(const std::optional<double>& log);

std::string if_known(const std::optional<double>& value, fmt::format_string<const double&> format);

// `text`, or "unknown" where it is empty.
std::string known(const std::string& text);

// How much longer a unit takes in a cell than the median of the units, as a logarithm.
double deviation_of(const Group& group, const GroupAnalysis& analysis, std::size_t unit,
                    std::size_t cell);

std::string device_of(const Facts& facts);
std::string facts_text(const Facts& facts);  // without the device
std::string dates_text(const Group& group);  // when its reports began
std::string rule_text(const Group& group, const GroupAnalysis& analysis);

// "1 SLOW, 7 OK".
std::string count_text(const std::vector<GroupAnalysis>& analyses);

}  // namespace nf4bench::fleet
