#include "doctor/checks/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nf4bench::doctor {
namespace {

// Five runs that scatter as assumed look like 10 % false alarms or more in one case of fifty.
constexpr double kManyFalseAlarms = 0.10;
constexpr double kNoBetterThanDice = 1.0 / 3.0;

constexpr char kWhy[] =
    "the gate holds changes to the noise that a quiet machine has; where unchanged code moves by "
    "more, it fails good code or passes slow code";

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text += fmt::format("{}{}", text.empty() ? "" : "x", extent);
  }
  return text;
}

std::string share_text(double share) {
  return share < 0.001 ? "under 0.1 %" : fmt::format("{:.1f} %", 100.0 * share);
}

}  // namespace

Finding check_noise(const AaRun& aa, const std::optional<AaNoise>& noise) {
  Finding finding = fine("noise", "", kWhy);
  if (!noise) {
    finding.severity = Severity::kWorthless;
    finding.found = fmt::format("{} could not be measured: {}", aa.variant,
                                aa.failure.empty() ? "too few runs" : aa.failure);
    finding.remedy =
        fmt::format("nf4bench run --shape {} --variant {}", shape_text(aa.shape), aa.variant);
    return finding;
  }
  finding.found = fmt::format(
      "{} runs of {} against itself scatter by {:.2f} % (compare assumes {:.2g} %): unchanged code "
      "would cross the threshold of {:.2g} % in {} of comparisons",
      aa.runs.size(), aa.variant, 100.0 * noise->relative, 100.0 * noise->assumed,
      100.0 * noise->threshold, share_text(noise->false_alarms));
  if (noise->false_alarms >= kNoBetterThanDice) {
    finding.severity = Severity::kWorthless;
  } else if (noise->false_alarms >= kManyFalseAlarms || noise->sides_differ) {
    finding.severity = Severity::kWarning;
  }
  if (noise->sides_differ) {
    finding.found += fmt::format("; one side is {:.2f} % off the other in every run",
                                 100.0 * std::abs(noise->side_change));
  }
  if (finding.severity == Severity::kWorthless) {
    finding.remedy = "nf4bench doctor  # again, once the other findings are dealt with";
  } else if (finding.severity == Severity::kWarning) {
    finding.remedy = fmt::format(
        "nf4bench compare --base A1.json --base A2.json B1.json B2.json --noise {:.2g}%",
        100.0 * std::max(noise->relative, noise->assumed));
  }
  return finding;
}

}  // namespace nf4bench::doctor
