#include "fleet/judged_text.hpp"

#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace nf4bench::fleet {

std::optional<double> relative(const std::optional<double>& log) {
  return log ? std::optional(std::expm1(*log)) : std::nullopt;
}

std::string log_percent(const std::optional<double>& log) {
  return log ? text::format_change(std::expm1(*log)) : "";
}

std::string if_known(const std::optional<double>& value, fmt::format_string<const double&> format) {
  return value ? fmt::format(format, *value) : "";
}

std::string known(const std::string& text) {
  return text.empty() ? "unknown" : text;
}

double deviation_of(const Group& group, const GroupAnalysis& analysis, std::size_t unit,
                    std::size_t cell) {
  return std::log(group.units[unit].values[cell].time_s / analysis.cells[cell].median_s);
}

std::string facts_text(const Facts& facts) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : facts) {
    if (name != "device") texts.push_back(fmt::format("{} {}", name, value));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string device_of(const Facts& facts) {
  for (const auto& [name, value] : facts) {
    if (name == "device") return value;
  }
  return "unknown device";
}

std::string dates_text(const Group& group) {
  if (group.units.empty()) return "";
  const auto [first, last] = std::ranges::minmax(group.units, {}, &Unit::started_at);
  const std::string from = first.started_at.substr(0, 10);
  const std::string to = last.started_at.substr(0, 10);
  return from == to ? "reports of " + from : fmt::format("reports of {} to {}", from, to);
}

std::string rule_text(const Group& group, const GroupAnalysis& analysis) {
  if (group.units.size() < kFewestUnits) {
    return fmt::format("Fewer than {} units: a ranking, and no verdicts.", kFewestUnits);
  }
  return fmt::format(
      "A cell of a unit is slow when its time is more than {:.0f} % and {:.1f} robust standard "
      "deviations above the median of the units. A unit is SLOW when a fifth of its cells are, and "
      "it is above the median in more of them than chance explains.",
      100.0 * analysis.threshold, analysis.z_limit);
}

std::string count_text(const std::vector<GroupAnalysis>& analyses) {
  std::vector<std::string> texts;
  for (const UnitVerdict verdict : kUnitVerdicts) {
    std::size_t count = 0;
    for (const GroupAnalysis& analysis : analyses) {
      for (const UnitSummary& unit : analysis.ranking) count += unit.verdict == verdict ? 1 : 0;
    }
    if (count > 0) {
      texts.push_back(verdict == UnitVerdict::kNone
                          ? fmt::format("{} without a verdict", count)
                          : fmt::format("{} {}", count, to_string(verdict)));
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace nf4bench::fleet
