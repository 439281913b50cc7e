#pragma once

#include "compare/history/history.hpp"
#include "text/page.hpp"

#include <cstdint>
#include <string>

namespace nf4bench::compare {

// Which cells of a history are shown.
enum class Shown : std::uint8_t { kAll, kChanged };

// For a terminal: how many cells of each device changed; then those, with when and by how much, and
// the others where all are `shown`.
std::string history_table(const History& history, Shown shown, const text::Style& style);

inline constexpr const char* kHistorySchema = "nf4bench.history";
inline constexpr const char* kHistorySchemaVersion = "1.0.0";

// For programs, as docs/history.schema.json describes. Ends in a newline.
std::string history_json(const History& history);

}  // namespace nf4bench::compare
