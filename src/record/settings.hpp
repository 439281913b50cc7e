#pragma once

#include "base/words.hpp"
#include "nf4/format.hpp"
#include "record/cell.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::record {

enum class VerifyScope : std::uint8_t {
  kAll,      // every element of every selected tensor
  kSampled,  // only the timed tensors, and of these at most the first 16 Mi elements, or outputs
             // that 256 Mi multiplications make
};

constexpr auto words(VerifyScope /*any*/) {
  using enum VerifyScope;
  return std::to_array<Word<VerifyScope>>({{kAll, "all"}, {kSampled, "sampled"}});
}

// How many elements VerifyScope::kSampled compares at most.
inline constexpr std::int64_t kSampledElements = std::int64_t{16} << 20;

// How many values of an output are compared at most.
constexpr std::int64_t most_compared(VerifyScope scope) {
  return scope == VerifyScope::kAll ? std::numeric_limits<std::int64_t>::max() : kSampledElements;
}

// What the activations x of a matrix product look like.
enum class Activations : std::uint8_t {
  kNormal,   // N(0, 1)
  kOutlier,  // N(0, 1), one channel in a hundred scaled by 100, as in trained models
  kFile,     // somebody's own
};

constexpr auto words(Activations /*any*/) {
  using enum Activations;
  return std::to_array<Word<Activations>>(
      {{kNormal, "normal"}, {kOutlier, "outlier"}, {kFile, "file"}});
}

// What a report says of an operation that was measured.
struct MeasuredOperation {
  std::string name;      // "matmul"
  std::string baseline;  // the variant that its speedups refer to; empty: none
};

// How tokens choose among experts.
struct ExpertChoice {
  std::int64_t top_k = 0;  // 0: as each model does
  std::string routing;     // the word or the file
};

// What was run.
struct Settings {
  std::vector<MeasuredOperation> operations;  // of a report, in the order in which they ran
  std::vector<nf4::OutputType> output_types;  // empty: the type each tensor's state names
  std::vector<CacheMode> caches = {CacheMode::kCold};
  std::vector<LaunchMode> launches;  // empty: the device's first
  std::string baseline;              // variant name; may be missing from the selection. Of a report
                                     // the one of the first operation: see baseline_of()
  int caches_rotated = 0;            // cold samples: the sets of a rotation, in last-level caches;
                                     // 0 until the device is known
  int min_samples = 30;
  double max_time_s = 2.0;     // a measurement: one variant in one cell
  double precision = 0.005;    // wanted relative half-width of the median's interval
  double min_sample_s = 1e-4;  // a sample holds so many launches that it lasts at least this long
  double duty = 1.0;        // share of the time that the device samples; between samples it rests
  std::uint64_t seed = 42;  // of the order in which variants take turns
  VerifyScope verify = VerifyScope::kAll;
  bool measure_stream_shapes = true;              // also time the kernels that only move the bytes
  std::vector<std::int64_t> tokens = {1, 8, 64};  // numbers of tokens that are multiplied with
  Activations activations = Activations::kNormal;
  std::string activations_file;           // where they are from with Activations::kFile
  bool cold_activations = false;          // cold samples find activations in no cache, too
  std::optional<ExpertChoice> experts{};  // of a run of the operation on stacks of experts
  // Devices that were measured at the same time, this one included; absent in older reports.
  std::optional<int> together = 1;
};

// The variant that the speedups of `operation` refer to.
inline const std::string& baseline_of(const Settings& settings, const std::string& operation) {
  for (const MeasuredOperation& each : settings.operations) {
    if (each.name == operation) return each.baseline;
  }
  return settings.baseline;
}

}  // namespace nf4bench::record
