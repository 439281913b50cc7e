#pragma once

#include "base/error.hpp"
#include "base/words.hpp"
#include "compare/gate.hpp"
#include "fleet/fleet.hpp"
#include "statistics/statistics.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::fleet {

// Of fewer units nobody can say which one is the exception.
inline constexpr std::size_t kFewestUnits = 5;

enum class UnitVerdict {
  kFailed,  // its run did not end, or had wrong outputs or impossible times
  kSlow,
  kUnsure,  // slow as far as its cells tell, but they are too few for the sign test
  kOk,
  kNone,  // there are fewer than kFewestUnits, or it measured no cell that as many did
};

constexpr auto words(UnitVerdict /*any*/) {
  using enum UnitVerdict;
  return std::to_array<Word<UnitVerdict>>(
      {{kFailed, "FAILED"}, {kSlow, "SLOW"}, {kUnsure, "UNSURE"}, {kOk, "OK"}, {kNone, "none"}});
}

// One cell over all units that measured it.
struct CellSummary {
  std::size_t units = 0;
  double median_s = 0.0;
  double mad = 0.0;  // median absolute deviation of the times from their median, relative
  double lowest_s = 0.0;
  double highest_s = 0.0;
  std::size_t lowest_unit = 0;  // indices in Group::units
  std::size_t highest_unit = 0;
};

// One unit over its cells. Deviations are logarithms of its time over the median of the cell's
// units: 0.02 is 2 % slower, near enough.
struct UnitSummary {
  std::size_t unit = 0;  // index in Group::units
  UnitVerdict verdict = UnitVerdict::kNone;
  std::string cause;                           // of a slow one, as far as its report tells
  std::size_t cells = 0;                       // that it and at least one other unit measured
  std::size_t slow_cells = 0;                  // of these, see docs/fleet.md
  std::vector<std::size_t> missing{};          // cells that most units measured, and it did not
  double deviation = 0.0;                      // median over its cells
  std::optional<statistics::Interval> ci95{};  // of that median; none with fewer than six cells
  double z = 0.0;                            // the same in robust standard deviations of the units
  std::optional<double> memory_deviation{};  // over the cells that the memory binds
  std::optional<double> other_deviation{};   // over those that it does not
  std::optional<double> clock_deviation{};   // of its clock, over all cells
  std::size_t worst_cell = 0;
  double worst_deviation = 0.0;
};

struct GroupAnalysis {
  double threshold = 0.0;            // relative: a smaller deviation is not slow
  double z_limit = 0.0;              // nor one of fewer robust standard deviations
  std::vector<CellSummary> cells;    // as in the group
  std::vector<UnitSummary> ranking;  // the slowest first
};

// Who is slow among the units of `group`, and how the cells vary; docs/fleet.md has the rules.
GroupAnalysis analyse(const Group& group);

// Fails for units that are SLOW or FAILED and for whatever has no report that counts. Is
// inconclusive where a group is too small for verdicts.
compare::GateDecision decide_gate(const Fleet& fleet, const std::vector<GroupAnalysis>& analyses);

// Why the unit of `summary` may be slow, as far as the reports tell: "another process", "power
// cap", "heat", "low clock", "memory only" or "unknown". Deviations beyond `threshold` count.
std::string likely_cause(const Group& group, const UnitSummary& summary, double threshold);

}  // namespace nf4bench::fleet
