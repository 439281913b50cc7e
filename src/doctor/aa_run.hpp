#pragma once

#include "bench/runner.hpp"
#include "compare/verdict.hpp"
#include "device/device.hpp"
#include "operation/dequantize.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nf4bench::doctor {

// How the same variant is measured against itself.
struct AaOptions {
  const operation::Operation* operation = &operation::dequantize();
  std::string variant;              // empty: the flagship of the device
  std::vector<std::int64_t> shape;  // empty: 4096x4096 on a GPU, 2048x2048 on the CPU
  int runs = 5;
  double run_s = 0.5;  // sampling of a run, both sides together
  std::function<double()> clock_s = bench::steady_clock_s;
  // Called a few times a second, between samples, with the finished fraction of all runs.
  std::function<void(double done)> on_progress;
};

// The medians of both sides of a run, in seconds per call.
struct AaPair {
  double first_s = 0.0;
  double second_s = 0.0;
};

// What the runs found.
struct AaRun {
  std::string variant;
  std::vector<std::int64_t> shape;
  std::vector<AaPair> runs;
  std::vector<double> sm_clock_hz;  // of every sample; empty where unknown
  std::string failure;              // why there is no run; empty when there is one
  bool was_interrupted = false;
};

// Measures a variant against itself in `options.runs` runs, made as "nf4bench run" would make them.
// One more run comes first and is thrown away. Throws Error(kDevice) when the device fails
// altogether.
AaRun run_against_itself(device::Device& device, const AaOptions& options,
                         const std::atomic<bool>& interrupted);

// What runs of a variant against itself tell about the machine.
struct AaNoise {
  double relative = 0.0;      // standard deviation of a run's log median, over both sides
  double assumed = 0.0;       // what "compare" takes it to be
  double threshold = 0.0;     // the smallest relative change that "compare" reports by default
  double false_alarms = 0;    // share of comparisons of two single runs that unchanged code would
                              // fail or pass as FASTER at that threshold
  double side_change = 0.0;   // geometric mean of second over first side, minus 1
  bool sides_differ = false;  // by more than `assumed`, and surely so
};

// Needs at least two runs.
AaNoise aa_noise(const std::vector<AaPair>& runs, const compare::RunNoise& assumed);

}  // namespace nf4bench::doctor
