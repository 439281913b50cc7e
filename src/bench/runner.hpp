#pragma once

#include "device/cpu/host_load.hpp"
#include "operation/operation.hpp"
#include "plan/plan.hpp"
#include "record/measurement.hpp"
#include "record/run_options.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nf4bench::bench {

// A tensor of the run that was just read.
struct LoadedTensor {
  const plan::PlannedTensor& planned;  // whose geometry it has
  const plan::TensorSource& source;
  const nf4::Nf4Tensor& tensor;

  // False for one that is verified alone.
  bool is_timed() const { return &source == &planned.source; }
};

// Seconds of the machine's steady clock.
double steady_clock_s();
void sleep_s(double seconds);

// What the runner tells while it works. All members may be empty.
struct RunObserver {
  std::function<void(const LoadedTensor&)> on_loaded{};
  std::function<void(const record::Measurement&)>
      on_measurement;  // each finished one, in report order
  std::function<void(const record::StreamCeiling&)> on_stream_ceiling;
  // Fraction of the run that is done, in [0, 1], and what is going on ("t3 14336x4096 fused").
  std::function<void(double done, const std::string& what)> on_progress;
  // Called on another thread, after the rows that say so, when a call hangs. It should end the
  // process: neither a kernel nor a library can be stopped. When it returns, the run goes on
  // waiting.
  std::function<void(const std::string& problem)> on_hang{};
};

// What a run reads of the machine besides its device. Tests script it.
struct Clocks {
  std::function<double()> clock_s = steady_clock_s;  // seconds, for time limits
  std::function<void(double)> rest_s = sleep_s;
  std::function<device::LoadReading()> read_load = [] { return device::read_load(); };
  device::ThreadWatch threads{};
};

// What else came out of the run.
struct RunOutcome {
  std::int64_t tensors_verified = 0;  // timed or not
  std::int64_t measurements = 0;
  bool interrupted = false;
};

// What is to be run. Borrowed.
struct RunRequest {
  device::Device& device;
  const operation::Operation& operation;
  const std::vector<plan::PlannedTensor>& tensors;
  const std::vector<plan::SelectedVariant>& variants;
  const record::RunOptions& options;
  Clocks clocks{};
};

// Verifies every variant on every planned tensor, then times those that passed, interleaved in
// rounds whose order rotates, and verifies again. Rows come in the order tensor, output type,
// cache, launch, variant. An Error(kDevice) of one variant becomes its `failed` row; one from
// upload() ends the run, and so does one after which the device works no more: then the rows of the
// tensor and type at hand are a failed one and skipped ones that say why. Looks at `interrupted`
// between samples: when it is set the cell at hand is finished from the samples taken so far (at
// least three), and cells not begun have no rows.
RunOutcome run_benchmark(const RunRequest& request, const record::Ceilings& ceilings,
                         const RunObserver& observer, const std::atomic<bool>& interrupted);

}  // namespace nf4bench::bench
