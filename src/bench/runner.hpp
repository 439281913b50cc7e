#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/measurement.hpp"
#include "bench/plan.hpp"

namespace nf4bench {

enum class VerifyScope : std::uint8_t {
  kAll,      // every element of every selected tensor
  kSampled,  // only the timed tensors, and of these at most the first 16 Mi elements
};

struct RunOptions {
  std::vector<OutputType> output_types;  // empty: the type each tensor's state names
  std::vector<CacheMode> caches = {CacheMode::kCold};
  std::vector<LaunchMode> launches;  // empty: the device's first
  std::string baseline;              // variant name; may be missing from the selection
  int min_samples = 30;
  double max_time_s = 2.0;     // a measurement: one variant in one cell
  double precision = 0.005;    // wanted relative half-width of the median's interval
  double min_sample_s = 1e-4;  // a sample holds so many launches that it lasts at least this long
  std::uint64_t seed = 42;     // of the order in which variants take turns
  VerifyScope verify = VerifyScope::kAll;
  bool measure_stream_shapes = true;  // also time the kernels that only move the bytes
  double call_timeout_s = 300.0;      // a call of a variant that takes longer hangs; 0: none does
};

// What the runner tells while it works. All members may be empty.
struct RunObserver {
  std::function<void(const Measurement&)> on_measurement;  // each finished one, in report order
  std::function<void(const StreamCeiling&)> on_stream_ceiling;
  // Fraction of the run that is done, in [0, 1], and what is going on ("t3 14336x4096 fused").
  std::function<void(double done, const std::string& what)> on_progress;
  // Seconds of a steady clock, for time limits; empty: the machine's. Tests script it.
  std::function<double()> clock_s{};
  // Called on another thread, after the rows that say so, when a call hangs. It should end the
  // process: neither a kernel nor a library can be stopped. When it returns, the run goes on
  // waiting.
  std::function<void(const std::string& problem)> on_hang{};
};

// What else came out of the run.
struct RunOutcome {
  std::int64_t tensors_verified = 0;  // timed or not
  std::int64_t measurements = 0;
  bool interrupted = false;
};

// Verifies every variant on every planned tensor, then times those that passed, interleaved in
// rounds whose order rotates, and verifies again. Rows come in the order tensor, output type,
// cache, launch, variant. An Error(kDevice) of one variant becomes its `failed` row; one from
// upload() ends the run, and so does one after which the device works no more: then the rows of the
// tensor and type at hand are a failed one and skipped ones that say why. Looks at `interrupted`
// between samples: when it is set the cell at hand is finished from the samples taken so far (at
// least three), and cells not begun have no rows.
RunOutcome run_benchmark(Device& device, const std::vector<PlannedTensor>& tensors,
                         const std::vector<SelectedVariant>& variants, const Ceilings& ceilings,
                         const RunOptions& options, const RunObserver& observer,
                         const std::atomic<bool>& interrupted);

}  // namespace nf4bench
