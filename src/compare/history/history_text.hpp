#pragma once

#include "compare/history/history.hpp"
#include "report/report.hpp"

#include <string>

namespace nf4bench::compare {

// For a terminal: first the cells that changed, with when and by how much, then the others.
std::string history_table(const History& history, const report::TableStyle& style);

inline constexpr const char* kHistorySchema = "nf4bench.history";
inline constexpr const char* kHistorySchemaVersion = "1.0.0";

// For programs, as docs/history.schema.json describes. Ends in a newline.
std::string history_json(const History& history);

}  // namespace nf4bench::compare
