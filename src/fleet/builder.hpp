#pragma once

#include "compare/comparability.hpp"
#include "compare/run_cells.hpp"
#include "fleet/fleet.hpp"
#include "record/report.hpp"
#include "report/report.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::fleet {

// What a fleet takes from one report. Made by one thread for each report, so that all that is
// costly happens there.
struct UnitReport {
  Unit unit;  // without values
  std::optional<record::Shard> shard;
  record::DeviceKind kind = record::DeviceKind::kCuda;
  std::vector<compare::TraitValue> traits;
  std::vector<compare::RunCell> cells;
};

UnitReport unit_report(const report::NamedReport& report);

// Which reports are of the fleet, by when they began: "2026-03-04T05:06:07Z". Empty: any.
struct FleetDates {
  std::string
      since{};        // older ones are refused; else those 30 days before the newest of their kind
  std::string now{};  // those of a later day than the next are refused
};

// Collects reports one at a time, so that neither they nor the names of their cells stay in memory.
class FleetBuilder {
 public:
  FleetBuilder() = default;
  explicit FleetBuilder(FleetDates dates) : dates_(std::move(dates)) {}

  void add(UnitReport report);
  void add_unread(LeftOut report) { fleet_.unread.push_back(std::move(report)); }

  // The fleet of the reports so far. Reports differ in nothing that matters for times but in the
  // unit and its host: of others the most numerous kind is taken and the rest refused, in each
  // group that has other values of the traits in `by`. Tasks of the job that have no report at all
  // are missing. Leaves the builder empty.
  Fleet finish(const std::vector<std::string>& by);

 private:
  // Units that are alike in all that matters.
  struct Kind {
    std::vector<compare::TraitValue> traits;
    Group group;
    std::map<compare::CellKey, std::size_t> places;  // in group.cells
  };

  // Where the report of a unit is.
  struct Place {
    std::size_t kind = 0;
    std::size_t unit = 0;
  };

  bool is_dated_well(const UnitReport& report);
  void refuse_old(Group& group);
  std::size_t kind_of(const UnitReport& report);
  bool replaces_older(const UnitReport& report);
  void refuse(const Kind& kind, const Kind& chosen);
  std::vector<std::string> missing_shards() const;

  FleetDates dates_;
  std::vector<Kind> kinds_;
  std::map<std::string, Place> places_;  // of each unit's newest report
  std::set<int> shards_;                 // that have a report, whatever became of it
  int shard_count_ = 0;                  // the most that a report says there are
  Fleet fleet_;
};

// True for "2026-03-04", with or without a time of day behind it.
bool is_date(const std::string& word);

// The fleet of the reports in the files `paths`, grouped by the traits in `by`. Those that cannot
// be read are named in it.
Fleet merge_reports(const std::vector<std::string>& paths, const std::vector<std::string>& by,
                    const FleetDates& dates);

// Lines that name the first of `reports` and why they are left out, each after the word `what`.
std::string left_out_text(const char* what, const std::vector<LeftOut>& reports);

// What is to be known of a fleet that was just merged: lines, ending in a newline.
std::string merge_text(const Fleet& fleet);

// The names that finish() can group by.
std::vector<std::string> group_words();

// Names of `expected` of which `fleet` has no unit. A line is a UUID or a host, which a number of
// units may follow: "node17 8". Throws Error(kInput), naming `source`, for a line of another form.
std::vector<std::string> missing_units(const Fleet& fleet, const std::string& expected,
                                       const std::string& source);

}  // namespace nf4bench::fleet
