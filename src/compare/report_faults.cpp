#include "compare/report_faults.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace nf4bench::compare {
namespace {

bool has_passed_row(const record::Report& report) {
  return std::any_of(
      report.measurements.begin(), report.measurements.end(),
      [](const record::Measurement& m) { return m.status == record::Status::kPassed; });
}

// All that is left of samples that a report leaves out; 0 of what was not timed.
double median_of(const record::Measurement& m) {
  return m.time_s ? m.time_s->median : 0.0;
}

}  // namespace

bool is_same_run(const record::Report& a, const record::Report& b) {
  return a.started_at == b.started_at && has_passed_row(a) &&
         std::equal(a.measurements.begin(), a.measurements.end(), b.measurements.begin(),
                    b.measurements.end(),
                    [](const record::Measurement& left, const record::Measurement& right) {
                      return left.samples_s == right.samples_s &&
                             median_of(left) == median_of(right);
                    });
}

std::vector<std::string> find_report_faults(const std::vector<report::NamedReport>& base,
                                            const std::vector<report::NamedReport>& fresh) {
  std::vector<const report::NamedReport*> all;
  all.reserve(base.size() + fresh.size());
  for (const report::NamedReport& each : base) all.push_back(&each);
  for (const report::NamedReport& each : fresh) all.push_back(&each);
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!has_passed_row(all[i]->report)) {
      faults.push_back(fmt::format("{} holds no measurement that passed", escaped(all[i]->name)));
    } else if (!all[i]->report.complete) {
      faults.push_back(
          fmt::format("{} is incomplete: its run did not finish", escaped(all[i]->name)));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (is_same_run(all[i]->report, all[j]->report)) {
        faults.push_back(fmt::format("{} and {} hold the same run", escaped(all[j]->name),
                                     escaped(all[i]->name)));
      }
    }
  }
  return faults;
}

}  // namespace nf4bench::compare
