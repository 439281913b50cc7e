#include "fleet/analysis.hpp"

#include "compare/verdict.hpp"
#include "statistics/statistics.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

namespace nf4bench::fleet {
namespace {

constexpr double kLeastZ = 3.5;
constexpr double kFalseAlarms = 0.001;     // fleets in which chance alone passes the limit of z
constexpr double kThresholdInNoise = 3.0;  // 3 % on GPUs
constexpr std::size_t kSlowShare = 5;      // a fifth of the cells
constexpr double kSignLevel = 0.001;
constexpr double kDeviationsPerMad = 1.4826022;

// The times of one cell, and the units that they are of.
struct Column {
  std::vector<double> logs;
  std::vector<std::size_t> units;
};

Column column_of(const Group& group, std::size_t cell) {
  Column column;
  for (std::size_t u = 0; u < group.units.size(); ++u) {
    const UnitValue& value = group.units[u].values[cell];
    if (!value.is_measured()) continue;
    column.logs.push_back(std::log(value.time_s));
    column.units.push_back(u);
  }
  return column;
}

double mad_of(const std::vector<double>& values, double center) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - center));
  return statistics::median(distances);
}

// What a unit's cells say of it, while they are gathered.
struct UnitCells {
  std::vector<double> deviations;
  std::vector<double> memory;
  std::vector<double> other;
  std::vector<double> clocks;
};

// How often a unit was slow in a set of cells.
struct Count {
  std::size_t cells = 0;
  std::size_t slower = 0;  // than the median
  std::size_t slow = 0;    // by the limits

  void add(bool is_slower, bool is_slow) {
    ++cells;
    slower += is_slower ? 1 : 0;
    slow += is_slow ? 1 : 0;
  }
  bool is_slow_in_many() const { return slow > 0 && kSlowShare * slow >= cells; }
  bool is_no_chance() const { return statistics::sign_test(slower, cells) < kSignLevel; }
};

// Of all cells that can be judged, those that the memory binds, and those that it does not.
struct Counts {
  Count all;
  Count memory;
  Count other;

  UnitVerdict verdict() const {
    if (all.cells == 0) return UnitVerdict::kNone;
    for (const Count* count : {&all, &memory, &other}) {
      if (count->is_slow_in_many() && count->is_no_chance()) return UnitVerdict::kSlow;
    }
    return all.is_slow_in_many() ? UnitVerdict::kUnsure : UnitVerdict::kOk;
  }
};

class Analyst {
 public:
  explicit Analyst(const Group& group)
      : group_(group), cells_(group.units.size()), counts_(group.units.size()) {
    const double noise =
        compare::measured_noise(group.kind, compare::Spread::kSeveralDevices).relative;
    analysis_.threshold = kThresholdInNoise * noise;
    const auto units = static_cast<double>(std::max<std::size_t>(group.units.size(), 1));
    analysis_.z_limit = std::max(kLeastZ, statistics::normal_quantile(1.0 - kFalseAlarms / units));
    analysis_.ranking.resize(group.units.size());
  }

  GroupAnalysis take() {
    for (std::size_t cell = 0; cell < group_.cells.size(); ++cell) judge_cell(cell);
    for (std::size_t unit = 0; unit < group_.units.size(); ++unit) summarize(unit);
    give_z();
    for (UnitSummary& summary : analysis_.ranking) {
      if (summary.verdict == UnitVerdict::kSlow || summary.verdict == UnitVerdict::kUnsure) {
        summary.cause = likely_cause(group_, summary, analysis_.threshold);
      }
    }
    std::ranges::stable_sort(analysis_.ranking, std::greater(), &UnitSummary::deviation);
    return std::move(analysis_);
  }

 private:
  void judge_cell(std::size_t cell) {
    const Column column = column_of(group_, cell);
    analysis_.cells.push_back(summarize_cell(column));
    if (column.logs.size() < 2) return;
    const double center = statistics::median(column.logs);
    const double scale = kDeviationsPerMad * mad_of(column.logs, center);
    for (std::size_t i = 0; i < column.logs.size(); ++i) {
      const std::size_t unit = column.units[i];
      const double deviation = column.logs[i] - center;
      note_deviation(unit, cell, deviation);
      if (column.logs.size() < kFewestUnits) continue;
      const double floor = group_.units[unit].values[cell].log_error;
      const bool is_slow = deviation > std::log1p(analysis_.threshold) &&
                           deviation > analysis_.z_limit * std::max(scale, floor);
      count(unit, cell, deviation > 0.0, is_slow);
    }
    note_clocks(cell, column);
  }

  static CellSummary summarize_cell(const Column& column) {
    CellSummary summary;
    summary.units = column.logs.size();
    if (column.logs.empty()) return summary;
    const auto [low, high] = std::ranges::minmax_element(column.logs);
    const double center = statistics::median(column.logs);
    summary.median_s = std::exp(center);
    summary.mad = std::expm1(mad_of(column.logs, center));
    summary.lowest_s = std::exp(*low);
    summary.highest_s = std::exp(*high);
    summary.lowest_unit = column.units[static_cast<std::size_t>(low - column.logs.begin())];
    summary.highest_unit = column.units[static_cast<std::size_t>(high - column.logs.begin())];
    return summary;
  }

  void note_deviation(std::size_t unit, std::size_t cell, double deviation) {
    UnitCells& cells = cells_[unit];
    UnitSummary& summary = analysis_.ranking[unit];
    if (cells.deviations.empty() || deviation > summary.worst_deviation) {
      summary.worst_cell = cell;
      summary.worst_deviation = deviation;
    }
    cells.deviations.push_back(deviation);
    const Bound bound = group_.cells[cell].bound;
    if (bound == Bound::kMemory) cells.memory.push_back(deviation);
    if (bound == Bound::kOther) cells.other.push_back(deviation);
  }

  void count(std::size_t unit, std::size_t cell, bool is_slower, bool is_slow) {
    Counts& counts = counts_[unit];
    counts.all.add(is_slower, is_slow);
    const Bound bound = group_.cells[cell].bound;
    if (bound == Bound::kMemory) counts.memory.add(is_slower, is_slow);
    if (bound == Bound::kOther) counts.other.add(is_slower, is_slow);
  }

  void note_clocks(std::size_t cell, const Column& column) {
    std::vector<double> clocks;
    for (const std::size_t unit : column.units) {
      const double clock = group_.units[unit].values[cell].clock_hz;
      if (clock > 0.0) clocks.push_back(clock);
    }
    if (clocks.size() < 2) return;
    const double center = statistics::median(clocks);
    for (const std::size_t unit : column.units) {
      const double clock = group_.units[unit].values[cell].clock_hz;
      if (clock > 0.0) cells_[unit].clocks.push_back(std::log(clock) - std::log(center));
    }
  }

  void summarize(std::size_t unit) {
    const auto median_of = [](const std::vector<double>& values) {
      return values.empty() ? std::nullopt : std::optional(statistics::median(values));
    };
    UnitSummary& summary = analysis_.ranking[unit];
    const UnitCells& cells = cells_[unit];
    summary.unit = unit;
    summary.cells = cells.deviations.size();
    summary.slow_cells = counts_[unit].all.slow;
    summary.deviation = median_of(cells.deviations).value_or(0.0);
    if (!cells.deviations.empty()) {
      summary.ci95 = statistics::median_interval(cells.deviations);
    }
    summary.memory_deviation = median_of(cells.memory);
    summary.other_deviation = median_of(cells.other);
    summary.clock_deviation = median_of(cells.clocks);
    for (std::size_t cell = 0; cell < group_.cells.size(); ++cell) {
      const bool most_have_it = 2 * analysis_.cells[cell].units > group_.units.size();
      if (most_have_it && !group_.units[unit].values[cell].is_measured()) {
        summary.missing.push_back(cell);
      }
    }
    const Unit& facts = group_.units[unit];
    summary.verdict =
        !facts.complete || facts.failed > 0 ? UnitVerdict::kFailed : counts_[unit].verdict();
  }

  // Floored by the error of a typical run, as the deviations of single cells are.
  void give_z() {
    std::vector<double> deviations;
    for (const UnitSummary& each : analysis_.ranking) {
      if (each.cells > 0) deviations.push_back(each.deviation);
    }
    if (deviations.size() < 2) return;
    const double center = statistics::median(deviations);
    for (UnitSummary& each : analysis_.ranking) {
      const double scale =
          std::max(kDeviationsPerMad * mad_of(deviations, center), typical_error(each.unit));
      if (each.cells > 0 && scale > 0.0) each.z = (each.deviation - center) / scale;
    }
  }

  double typical_error(std::size_t unit) const {
    std::vector<double> errors;
    for (const UnitValue& value : group_.units[unit].values) {
      if (value.is_measured()) errors.push_back(value.log_error);
    }
    return errors.empty() ? 0.0 : statistics::median(errors);
  }

  const Group& group_;
  GroupAnalysis analysis_;
  std::vector<UnitCells> cells_;  // of each unit
  std::vector<Counts> counts_;
};

std::size_t count_of(const std::vector<GroupAnalysis>& analyses, UnitVerdict verdict) {
  std::size_t count = 0;
  for (const GroupAnalysis& analysis : analyses) {
    for (const UnitSummary& unit : analysis.ranking) count += unit.verdict == verdict ? 1 : 0;
  }
  return count;
}

void add_reason(std::vector<std::string>& reasons, std::size_t count, const char* noun,
                const char* what) {
  if (count == 0) return;
  reasons.push_back(
      fmt::format("{} {}", text::format_count(static_cast<long long>(count), noun), what));
}

}  // namespace

GroupAnalysis analyse(const Group& group) {
  return Analyst(group).take();
}

compare::GateDecision decide_gate(const Fleet& fleet, const std::vector<GroupAnalysis>& analyses) {
  compare::GateDecision gate;
  add_reason(gate.reasons, count_of(analyses, UnitVerdict::kSlow), "unit", "SLOW");
  add_reason(gate.reasons, count_of(analyses, UnitVerdict::kFailed), "unit", "FAILED");
  add_reason(gate.reasons, fleet.missing.size(), "name", "missing");
  add_reason(gate.reasons, fleet.refused.size(), "report", "refused");
  add_reason(gate.reasons, fleet.unread.size(), "file", "not read");
  if (!gate.reasons.empty()) {
    gate.code = ExitCode::kGateFailed;
    return gate;
  }
  add_reason(gate.reasons, count_of(analyses, UnitVerdict::kNone), "unit", "without a verdict");
  std::size_t lacking = 0;
  for (const GroupAnalysis& analysis : analyses) {
    lacking += static_cast<std::size_t>(std::ranges::count_if(
        analysis.ranking, [](const UnitSummary& unit) { return !unit.missing.empty(); }));
  }
  add_reason(gate.reasons, lacking, "unit", "without cells that most have");
  if (!gate.reasons.empty()) gate.code = ExitCode::kInconclusive;
  return gate;
}

namespace {

constexpr double kLowClock = 0.01;  // below that of the fleet, as a fraction
constexpr double kAtLimit = 0.97;   // of the power limit
constexpr double kHotter_c = 10.0;  // than the median of the fleet
constexpr double kExplains = 0.5;   // share of the deviation

bool has_reason(const Unit& unit, std::string_view word) {
  return std::ranges::any_of(unit.throttle_reasons, [&](const std::string& reason) {
    return reason.find(word) != std::string::npos;
  });
}

bool draws_its_limit(const Unit& unit) {
  return unit.power_w && unit.power_limit_w && *unit.power_w >= kAtLimit * *unit.power_limit_w;
}

bool is_hotter(const Group& group, const Unit& unit) {
  std::vector<double> temperatures;
  for (const Unit& each : group.units) {
    if (each.temperature_c) temperatures.push_back(*each.temperature_c);
  }
  return unit.temperature_c && *unit.temperature_c >= statistics::median(temperatures) + kHotter_c;
}

// The driver's own reason comes first: a GPU that works is warmer than those that wait.
std::string cause_of_low_clock(const Group& group, const Unit& unit) {
  if (has_reason(unit, "thermal")) return "heat";
  if (has_reason(unit, "power")) return "power cap";
  if (is_hotter(group, unit)) return "heat";
  return draws_its_limit(unit) ? "power cap" : "low clock";
}

bool has_others(const Unit& unit) {
  return unit.other_processes.value_or(0) > 0;
}

// Where half of the units share their GPUs, as desktops do, that makes none of them slow.
bool shares_as_few_do(const Group& group, const Unit& unit) {
  const auto sharing = std::ranges::count_if(group.units, has_others);
  return has_others(unit) && 2 * static_cast<std::size_t>(sharing) < group.units.size();
}

// Whether the clock is low, and that is a good part of the reason.
bool has_low_clock(const UnitSummary& summary) {
  const double lack = -summary.clock_deviation.value_or(0.0);
  const double slowest = std::max(summary.deviation, summary.other_deviation.value_or(0.0));
  return lack > kLowClock && lack > kExplains * slowest;
}

bool is_memory_alone(const UnitSummary& summary, double threshold) {
  return summary.memory_deviation && summary.other_deviation &&
         *summary.memory_deviation > std::log1p(threshold) &&
         *summary.other_deviation < kExplains * *summary.memory_deviation;
}

}  // namespace

std::string likely_cause(const Group& group, const UnitSummary& summary, double threshold) {
  const Unit& unit = group.units[summary.unit];
  if (shares_as_few_do(group, unit)) return "another process";
  if (has_low_clock(summary)) return cause_of_low_clock(group, unit);
  return is_memory_alone(summary, threshold) ? "memory only" : "unknown";
}

}  // namespace nf4bench::fleet
