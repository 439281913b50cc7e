#pragma once

#include "fleet/analysis.hpp"
#include "text/document.hpp"
#include "text/page.hpp"
#include "text/sheet.hpp"

#include <optional>
#include <string>
#include <vector>

namespace nf4bench::fleet {

// What the table, the Markdown and the page of a judged fleet say in the same words.

// A logarithm of a ratio as a change: 0.02 is 2 % slower.
std::optional<double> relative(const std::optional<double>& log);

// `text`, or "unknown" where it is empty.
std::string known(const std::string& text);

// How much longer a unit takes in a cell than the median of the units, as a logarithm.
double deviation_of(const Group& group, const GroupAnalysis& analysis, std::size_t unit,
                    std::size_t cell);

std::string device_of(const Facts& facts);
std::string facts_text(const Facts& facts);  // without the device
std::string rule_text(const Group& group, const GroupAnalysis& analysis);

// "1 SLOW, 7 OK".
std::string count_text(const std::vector<GroupAnalysis>& analyses);

// The units of a group by rank; all of them, or those that are remarkable and the `most` slowest.
text::Sheet units_sheet(const Group& group, const GroupAnalysis& analysis, std::size_t most);

// The cells of a group, in its order.
text::Sheet cells_sheet(const Group& group, const GroupAnalysis& analysis);

// The `most` of them that a unit measured and that differ most, those first.
text::Sheet spread_sheet(const Group& group, const GroupAnalysis& analysis, std::size_t most);

// The `most` cells of `unit` in which it is slowest, those first, beside the other units' times.
text::Sheet unit_cells_sheet(const Group& group, const GroupAnalysis& analysis, std::size_t unit,
                             std::size_t most);

// A fleet that was judged. Borrowed.
struct JudgedFleet {
  const Fleet& fleet;
  const std::vector<GroupAnalysis>& analyses;   // one for each group
  const compare::GateDecision* gate = nullptr;  // where one was asked for
  bool all = false;  // shows every unit and cell, not only the most remarkable ones
};

// For a terminal: the slowest units, the cells that differ most, and what has no report.
std::string ranking_table(const JudgedFleet& judged, const text::Style& style);

// For a ticket: each unit that is SLOW or FAILED with the cells in which it is slowest, and what
// has no report.
text::Document ranking_document(const JudgedFleet& judged);

// Gauges of each unit as Prometheus takes them, in the format OpenMetrics.
std::string ranking_metrics(const JudgedFleet& judged);

inline constexpr const char* kRankingSchema = "nf4bench.ranking";
inline constexpr const char* kRankingSchemaVersion = "1.0.0";

// For programs, as docs/ranking.schema.json describes. Ends in a newline. Has all units and cells.
std::string ranking_json(const JudgedFleet& judged);

}  // namespace nf4bench::fleet
