#pragma once

#include "base/words.hpp"
#include "compare/run_cells.hpp"
#include "record/device_info.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
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

using Facts = std::vector<std::pair<std::string, std::string>>;

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

}  // namespace nf4bench::fleet
