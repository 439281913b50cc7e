#pragma once

#include "compare/comparability.hpp"
#include "compare/verdict.hpp"
#include "record/report.hpp"
#include "report/report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::compare {

struct CompareOptions {
  Metric metric = Metric::kTime;
  std::optional<double> threshold{};    // relative; default: kThresholdInNoise x run noise
  std::optional<double> run_noise{};    // relative; default: measured_noise()
  std::vector<std::string> allowed{};   // differences not to mind
  std::vector<std::string> variants{};  // wildcards; empty: all
};

// What a side says of a cell: the metric's own value, a time in seconds or a ratio.
struct SideValue {
  double value = 0.0;
  int runs = 0;
  std::int64_t samples = 0;
};

struct ComparedCell {
  CellKey key;
  Ruling ruling;
  std::optional<SideValue> base;
  std::optional<SideValue> fresh;
  std::optional<Change> change;  // when both sides measured it
};

// A report that took part.
struct ReportLabel {
  std::string name;
  std::string started_at;
  std::string git_commit;
};

struct ComparisonResult {
  Metric metric = Metric::kTime;
  double threshold = 0.0;
  RunNoise noise;
  std::string device;
  std::vector<ReportLabel> base;
  std::vector<ReportLabel> fresh;
  std::vector<Difference> differences;
  bool is_comparable = true;  // when not, there are no cells
  std::vector<ComparedCell> cells;
  std::vector<CellKey> new_cells;   // measured by the new side alone: nothing to compare with
  std::vector<std::string> faults;  // what makes the reports themselves unfit for a gate
  std::optional<double> median_log_change;  // over the cells that both sides measured

  std::int64_t count(CellVerdict verdict) const;
  std::int64_t measured() const;  // cells that both sides measured
};

// Compares pooled runs, cell by cell. Each side has at least one report.
ComparisonResult compare_reports(const std::vector<report::NamedReport>& base,
                                 const std::vector<report::NamedReport>& fresh,
                                 const CompareOptions& options);

// The times of one report over those of another, in the cells that both measured.
struct TimeRatios {
  std::int64_t cells = 0;
  double mean = 1.0;  // geometric
  double lowest = 1.0;
  double highest = 1.0;
  std::optional<double> clock;  // SM clocks likewise; absent where one report has none
};

// `fresh` over `base`. No verdict: see compare_reports() for that.
TimeRatios time_ratios(const record::Report& base, const record::Report& fresh);

}  // namespace nf4bench::compare
