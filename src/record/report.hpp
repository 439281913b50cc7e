#pragma once

#include "record/device_info.hpp"
#include "record/geometry.hpp"
#include "record/measurement.hpp"
#include "record/settings.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::record {

// What a report's first two fields say. A reader takes any minor version of its own major one.
inline constexpr const char* kReportSchema = "nf4bench.report";
inline constexpr const char* kReportSchemaVersion = "1.0.0";
inline constexpr const char* kToolName = "nf4bench";

// Which of the tasks a run is that somebody started together, one for each GPU.
struct Shard {
  int index = 0;       // from 0
  int count = 0;       // of the tasks; 0: not known
  bool split = false;  // they share the geometries; else each measures all of them
  std::string origin;  // who says so: "--shard", "SLURM_PROCID"
};

// "shard 2 of 8"; without the number of tasks "shard 2".
inline std::string shard_text(int index, int count) {
  const std::string text = "shard " + std::to_string(index);
  return count > 0 ? text + " of " + std::to_string(count) : text;
}

// A tensor as the report describes it.
struct ReportTensor {
  std::string id;
  std::string name;
  std::string source;
  Geometry geometry;
  nf4::OutputType dtype = nf4::OutputType::kBfloat16;
  std::string sha256;  // of packed weight, absmax and nested state, in that order
  std::int64_t multiplicity = 1;
};

// A variant that took part, and how it works: the traits that it states of itself.
struct ReportVariant {
  std::string name;  // as in the measurements
  std::string operation = kDequantize;
  std::string summary;
  int launches = 1;
  bool inline_ptx = false;
  bool cache_hints = false;
  bool persistent = false;
  std::string mirrors;
  std::string
      compiled_from;  // the variant that this is through torch.compile; empty: it is its own
};

// The file of a peer as it was when the run began. What could not be found out is empty.
struct PeerFile {
  std::string name;  // of the peer
  std::string file;
  std::optional<std::int64_t> bytes{};
  std::string sha256;
  std::string modified_at;  // UTC, RFC 3339
};

// The machine that the run was on.
struct HostInfo {
  std::string name;
  std::string os;      // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;  // uname -r
  std::string cpu;
  int threads = 0;
  std::int64_t memory_bytes = 0;
};

// The program that made the report.
struct ToolInfo {
  std::string version;
  std::string git_commit;  // empty when built outside a checkout
  bool git_dirty = false;
  std::string build_type;
  std::string compiler;
  std::string cuda_architectures;  // empty without CUDA
};

// Everything a run found out. Plain data; written as docs/report.schema.json describes.
struct Report {
  bool complete = false;
  ToolInfo tool;
  std::vector<std::string> command;  // argv
  std::string started_at;            // UTC, RFC 3339
  std::string finished_at;           // empty while running
  HostInfo host;
  std::optional<Shard> shard;  // of a run that is one task of a job
  DeviceInfo device;
  DeviceState state_before;
  std::optional<DeviceState> state_after;
  std::optional<double> idle_power_w;  // absent unless energy was asked for and is counted
  Settings settings;
  std::vector<ReportTensor> tensors;
  std::vector<Measurement> measurements;
  Ceilings ceilings;
  std::vector<StreamCeiling> stream_ceilings;
  std::int64_t tensors_verified = 0;
  std::vector<std::string> warnings;
  std::vector<PeerFile> peers;
  std::vector<ReportVariant> variants;  // empty when read from a report of before there were any
};

// One variant over all tensors.
struct VariantSummary {
  Cell cell;  // without a tensor
  std::string variant;
  std::int64_t cells = 0;                 // measurements that passed
  std::optional<double> speedup_geomean;  // over the cells with a speedup
  std::optional<double> speedup_min;
  std::optional<double> speedup_max;
  std::optional<double> model_time_s;  // sum of median x multiplicity; absent unless all passed
  std::optional<double> tokens_per_s;  // tokens / model time: what it bounds; absent without either
  std::optional<double> model_energy_j;  // likewise of joules
  std::optional<double> model_speedup;   // baseline's model time / this one's
  bool in_doubt = false;                 // a time in it cannot be ranked
  bool reference_line = false;           // as of its measurements
};

// A variant that is the fastest from `first` to `last` tokens, as far as these were measured.
struct Stretch {
  std::string variant;  // empty: nobody can say
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Which variant is the fastest with how many tokens.
struct Crossover {
  Cell cell;  // without tokens
  std::vector<Stretch> stretches;
};

// What the measurements say together.
struct Summary {
  std::vector<VariantSummary> variants;
  std::vector<Crossover> crossovers;
};

}  // namespace nf4bench::record
