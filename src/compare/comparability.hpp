#pragma once

#include "compare/metric.hpp"
#include "compare/verdict.hpp"
#include "report/report.hpp"

#include <string>
#include <vector>

namespace nf4bench::compare {

// Something about the machine or the build in which reports differ.
struct Difference {
  std::string name;               // what --allow takes: "driver"
  std::vector<std::string> base;  // the values found, each once
  std::vector<std::string> fresh;
  bool matters = false;  // the metric cannot be compared across it
  bool allowed = false;
};

// A fact about the machine or the build that reports may differ in, as one report states it.
struct TraitValue {
  const char* name = "";
  std::string value;     // empty: the report does not know it, and differs from no other
  bool matters = false;  // the metric cannot be compared across it
};
std::vector<TraitValue> trait_values(const record::Report& report, Metric metric);

// The names that a Difference may have and that may matter.
const std::vector<std::string>& difference_names();

// What differs between any of the reports. A value that a report does not know differs
// from no other.
// Times want the same device, driver, clocks and build; ratios within a run carry over from one
// device of a model to another.
std::vector<Difference> find_differences(const std::vector<report::NamedReport>& base,
                                         const std::vector<report::NamedReport>& fresh,
                                         Metric metric, const std::vector<std::string>& allowed);

// True when no difference that matters is left unallowed.
bool is_comparable(const std::vector<Difference>& differences);

// Whether the reports are of one device.
Spread spread_of(const std::vector<Difference>& differences);

// "driver: base 570.86, new 580.159"
std::string difference_text(const Difference& difference);

}  // namespace nf4bench::compare
