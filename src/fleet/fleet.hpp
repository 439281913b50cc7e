#pragma once

#include "base/field.hpp"
#include "base/words.hpp"
#include "compare/run_cells.hpp"
#include "json/json_stream.hpp"
#include "record/device_info.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nf4bench::fleet {

// What the first two fields of a merged file say. A reader takes any minor version of its own major
// one.
inline constexpr const char* kFleetSchema = "nf4bench.fleet";
inline constexpr const char* kFleetSchemaVersion = "1.0.0";

// What a cell is bound by, as far as its bandwidth tells.
enum class Bound { kUnknown, kMemory, kOther };

constexpr auto words(Bound /*any*/) {
  using enum Bound;
  return std::to_array<Word<Bound>>(
      {{kUnknown, "unknown"}, {kMemory, "memory"}, {kOther, "other"}});
}

// A cell that reaches this fraction of the bandwidth of a copy is bound by the memory.
inline constexpr double kMemoryBound = 0.8;

struct FleetCell {
  std::string name;  // "4096x14336 block 64 nested  bf16  cold graph  fused"; no two are the same
  Bound bound = Bound::kUnknown;
  compare::CellKey key{};  // not known when it was read back
};

// What a run says of one cell. Zeros where it did not measure it, or could not.
struct UnitValue {
  double time_s = 0.0;     // median of a call
  double log_error = 0.0;  // its standard error, relative, as far as the samples of the run show it
  double clock_hz = 0.0;   // median SM clock of the samples

  bool is_measured() const { return time_s > 0.0; }
};

// A GPU, or a CPU, and what its newest report says.
struct Unit {
  std::string id;  // the UUID; where there is none "HOST cpu"
  std::string host;
  std::string report;  // the file
  std::string started_at;
  bool complete = false;
  std::size_t failed = 0;  // measurements that were wrong or impossible
  std::string failure{};   // which the first of them was, and why
  std::optional<double> temperature_c{};
  std::optional<double> power_w{};
  std::optional<double> power_limit_w{};
  std::optional<double> throttled{};  // share of the samples that were, see record/samples.hpp
  std::vector<std::string> throttle_reasons{};
  std::optional<int> other_processes{};  // most on its GPU at once, as far as the report knows
  std::vector<UnitValue> values{};       // one for each cell of the group
};

struct Fact {
  std::string name;  // "driver"
  std::string value;

  bool operator==(const Fact&) const = default;
};
using Facts = std::vector<Fact>;

// Units whose times can be compared.
struct Group {
  Facts facts;  // what they have in common: {"driver", "580.159.04"}, ...
  record::DeviceKind kind = record::DeviceKind::kCuda;
  std::vector<FleetCell> cells;
  std::vector<Unit> units;
};

// A report that is not part of the fleet, and why.
struct LeftOut {
  std::string report;
  std::string reason;
};

// Many reports of like machines.
struct Fleet {
  std::vector<Group> groups;
  std::vector<LeftOut> refused;   // not comparable with the others
  std::vector<LeftOut> replaced;  // of a unit that has a newer report
  std::vector<LeftOut> unread;
  std::vector<std::string> missing;  // tasks, hosts or UUIDs without a report
};

// What the file keeps of all this, by json::FieldWriter and FieldReader. Cells have their keys
// besides, for other programs.
template <Is<FleetCell> Cell, class F>
void fields(Cell& c, F&& f) {
  std::string bound = to_string(c.bound);
  f("name", c.name);
  f("bound", bound);
  if constexpr (!std::is_const_v<Cell>) {  // one of a later version is not known here
    for (const Bound each : kWords<Bound>) {
      if (bound == to_string(each)) c.bound = each;
    }
  }
}

// The values of a unit, each kind for all cells.
struct UnitColumns {
  std::vector<double> times;
  std::vector<double> log_errors;  // as errors of errors they have few digits
  std::vector<double> clocks;
};
UnitColumns columns_of(const std::vector<UnitValue>& values);
std::vector<UnitValue> values_of(const UnitColumns& columns);

template <Is<Unit> One, class F>
void fields(One& u, F&& f) {
  f("id", u.id);
  f("host", u.host);
  f("report", u.report);
  f("started_at", u.started_at);
  f("complete", u.complete);
  f("failed", u.failed);
  f("failure", u.failure, Field{.later = true, .or_null = true});
  f("temperature_c", u.temperature_c, Field{.low = -1e300});  // may be below zero
  f("power_w", u.power_w);
  f("power_limit_w", u.power_limit_w);
  f("throttled", u.throttled);
  f("throttle_reasons", u.throttle_reasons);
  f("other_processes", u.other_processes, kLater);
  UnitColumns columns = columns_of(u.values);
  f("time_s", columns.times);
  f("log_error", columns.log_errors);
  f("clock_hz", columns.clocks);
  if constexpr (!std::is_const_v<One>) u.values = values_of(columns);
}

template <Is<Fact> One, class F>
void fields(One& fact, F&& f) {
  f("name", fact.name);
  f("value", fact.value);
}

template <Is<Group> Alike, class F>
void fields(Alike& g, F&& f) {
  f("facts", g.facts);
  f("kind", g.kind);
  f("cells", g.cells);
  f("units", g.units);
}

template <Is<LeftOut> Report, class F>
void fields(Report& r, F&& f) {
  f("report", r.report);
  f("reason", r.reason);
}

template <Is<Fleet> Whole, class F>
void fields(Whole& w, F&& f) {
  f("groups", w.groups);
  f("refused", w.refused);
  f("replaced", w.replaced);
  f("unread", w.unread);
  f("missing", w.missing);
}

// fleet_file.cpp: writes `fleet` as docs/fleet.schema.json describes, piece by piece.
void write_fleet(const Fleet& fleet, const json::TextSink& sink);

// Whether a file that begins so is a merged one, as this program lays it out.
bool begins_as_fleet(std::string_view beginning);

// Reads the regular file at `path`, which write_fleet() wrote (any minor version of the same
// major). Throws Error(kInput).
Fleet read_fleet(const std::string& path);

}  // namespace nf4bench::fleet
