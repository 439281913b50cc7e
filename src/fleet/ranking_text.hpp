#pragma once

#include "fleet/analysis.hpp"
#include "text/document.hpp"
#include "text/page.hpp"

#include <string>
#include <vector>

namespace nf4bench::fleet {

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
