#pragma once

#include "compare/cell_key.hpp"
#include "compare/metric.hpp"
#include "report/report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::compare {

// What one run says of one cell. The cost is the time, or the inverse of a ratio, so that more is
// slower whatever the metric.
struct RunValue {
  double log_cost = 0.0;
  double log_error = 0.0;            // its standard error as far as the samples of the run show it
  double time_s = 0.0;               // median of a call, whatever the metric
  double resolution_s = 0.0;         // a difference between two calls that the timer cannot see
  std::optional<double> clock_hz{};  // median SM clock of the samples
  std::optional<double> fraction_of_copy{};  // rate over the run's copy ceiling
  std::int64_t samples = 0;
  bool has_interval = true;  // of its median, from the samples
  std::string doubt{};       // why no more than a great change follows from it; empty: more does
};

// How a cell fared in one run, the best first.
enum class CellState : std::uint8_t {
  kMeasured,
  kAbsent,   // no row
  kSkipped,  // cannot run there
  kWrong,    // failed, invalid, or a row whose numbers cannot be used
};

struct RunCell {
  CellKey key;
  CellState state = CellState::kAbsent;
  std::string reason;  // why it is not measured
  RunValue value;      // only when it is
};

// The cells of `report` in order of appearance. Tensors of one geometry share a cell: their mean
// logarithm, and the worst of their states. For Metric::kSpeedup the rows of the baseline itself
// are left out.
std::vector<RunCell> run_cells(const record::Report& report, Metric metric);

}  // namespace nf4bench::compare
