#pragma once

#include "compare/history/history.hpp"
#include "text/sheet.hpp"

namespace nf4bench::compare {

// Which cells of a history are shown.
enum class Shown : std::uint8_t { kAll, kChanged };

// True where the cell has a step, or its last run is off its level.
bool has_changed(const HistorySeries& series, const HistoryDevice& device);

// "2026-03-01 1a2b3c4": when a run began and at which commit, or its name where neither is known.
std::string run_text(const HistoryRun& run);

// The cells of a device: a section for each geometry and launch, those first in which one changed.
text::Sheet series_sheet(const HistoryDevice& device, Metric metric, Shown shown);

}  // namespace nf4bench::compare
