#pragma once

#include "compare/run_cells.hpp"
#include "compare/verdict.hpp"
#include "report/report.hpp"
#include "text/page.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::compare {

// A place at which a series moved to another level.
struct LevelStep {
  std::size_t index = 0;  // of the first value on the new level
  double change = 0.0;    // median of the new level minus that of the old one
};

struct StepModel {
  double noise = 0.005;     // standard deviation of a value about its level, at least
  double threshold = 0.02;  // smaller steps are not told
};

// A level holds at least this many values: one or two odd runs are no step.
inline constexpr std::size_t kShortestLevel = 3;

// Splits `values`, in the order of time, into levels. The best split has the smallest sum of a
// price for each level and of the absolute deviations from the levels' medians, in standard
// deviations. Absolute deviations make single wild values harmless. The noise is estimated from
// neighbouring values where it is greater than the model's. Steps to a level of too few values of
// its own and steps below the threshold are merged away.
std::vector<LevelStep> find_steps(std::span<const double> values, const StepModel& model);

struct HistoryOptions {
  Metric metric = Metric::kTime;
  std::optional<double> threshold{};    // relative; default: kThresholdInNoise x run noise
  std::optional<double> run_noise{};    // relative; default: measured_noise() of one device
  std::vector<std::string> variants{};  // wildcards; empty: all
  std::vector<std::string> units{};     // wildcards of UUIDs and hosts; empty: all
};

// A run of a history.
struct HistoryRun {
  std::string name;  // the report's file
  std::string started_at;
  std::string git_commit;
  bool complete = true;
};

// One cell in one run.
struct HistoryPoint {
  std::size_t run = 0;  // index in HistoryDevice::runs
  double value = 0.0;   // the metric's own: seconds or a ratio
  double log_cost = 0.0;
};

struct HistoryStep {
  std::size_t point = 0;    // the first one on the new level
  double log_change = 0.0;  // of the cost: above 0 is slower
};

// One cell over time. The last point may be off the last level: a step that is not yet confirmed.
struct HistorySeries {
  CellKey key;
  std::vector<HistoryPoint> points;  // in the order of time, at least one
  std::vector<HistoryStep> steps;
  double last_log_change = 0.0;  // of the last point against the median of the last level
};

// Finding the steps of a cell takes time in proportion to the square of its runs.
inline constexpr std::size_t kMostHistoryRuns = 1000;

// The newest runs on one device, and its cells in order of appearance.
struct HistoryDevice {
  std::string device;
  std::string id;    // see device_key()
  std::string unit;  // the UUID of a GPU; of a CPU the host
  std::vector<HistoryRun> runs;
  std::size_t older_runs = 0;  // not looked at
  std::vector<HistorySeries> series;
  RunNoise noise;
  double threshold = 0.0;
};

struct History {
  Metric metric = Metric::kTime;
  std::vector<HistoryDevice> devices;
};

// Model and uuid of the device that `report` was made on, as one word fit for a file name. A CPU is
// its model, its number of threads and its host.
std::string device_key(const record::Report& report);

// Collects reports one at a time, so that their samples need not stay in memory.
class HistoryBuilder {
 public:
  explicit HistoryBuilder(HistoryOptions options) : options_(std::move(options)) {}

  // A copy of a run that was added before is passed over, and so are units that are not selected.
  void add(const report::NamedReport& report);

  // Runs in the order of their start, and the steps of each cell.
  History finish() const;

 private:
  struct Digest {
    HistoryRun run;
    std::string device;
    std::string id;
    std::string unit;
    record::DeviceKind kind = record::DeviceKind::kCpu;
    std::vector<RunCell> cells;

    // For runs of one device that began at the same time.
    bool is_same_run(const Digest& other) const;
  };

  HistoryDevice device_history(const std::vector<const Digest*>& digests) const;

  HistoryOptions options_;
  std::vector<Digest> digests_;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> places_;  // id, start
};

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
