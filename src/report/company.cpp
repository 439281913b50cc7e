#include "report/company.hpp"

#include "record/company.hpp"
#include "report/report.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nf4bench::report {
namespace {

constexpr std::size_t kCellsNamed = 12;

std::string finding_of(const record::Measurement& m) {
  const text::TimeScale scale = text::time_scale({m.time_s->median, m.alone->median_s});
  return fmt::format("{} at {} {} takes {} in company and {} alone ({:+.1f} %).", m.variant,
                     m.cell.tensor, cell_words(m.cell), text::format_time(m.time_s->median, scale),
                     text::format_time(m.alone->median_s, scale),
                     100.0 * record::cost_of_company(m));
}

// The greatest difference first.
std::vector<const record::Measurement*> dependent_ones(const record::Report& report) {
  std::vector<const record::Measurement*> found;
  for (const record::Measurement& m : report.measurements) {
    if (record::depends_on_company(m)) found.push_back(&m);
  }
  std::stable_sort(
      found.begin(), found.end(), [](const record::Measurement* a, const record::Measurement* b) {
        return std::abs(record::cost_of_company(*a)) > std::abs(record::cost_of_company(*b));
      });
  return found;
}

}  // namespace

std::vector<std::string> company_findings(const record::Report& report) {
  const auto measured =
      std::count_if(report.measurements.begin(), report.measurements.end(),
                    [](const record::Measurement& m) { return m.alone.has_value(); });
  if (measured == 0) return {};
  const std::vector<const record::Measurement*> found = dependent_ones(report);
  if (found.empty()) {
    return {
        fmt::format("Alone in a process of its own each takes as long or as many cycles, within "
                    "its interval or {:.0f} % ({} compared).",
                    100.0 * record::kSameAlone, measured)};
  }
  std::vector<std::string> findings;
  for (const record::Measurement* m : found) {
    if (findings.size() == kCellsNamed) {
      findings.push_back(
          fmt::format("And {} more times depend on their company.", found.size() - kCellsNamed));
      break;
    }
    findings.push_back(finding_of(*m));
  }
  return findings;
}

}  // namespace nf4bench::report
