#pragma once

#include "report/report.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace nf4bench::test {

// A finished run on one H200 without a cell. Runs of different `minute` differ in nothing else.
record::Report gpu_run(int minute);

// A row that passed: 41 samples within 0.1 % of `median_s`, whose median it is exactly, and the
// same clock in each. The speedup refers to `baseline_s`.
record::Measurement passed_row(const std::string& variant, double median_s,
                               double baseline_s = 100e-6);

// A run whose cells are all "4096x4096 block 64 nested bf16 cold graph".
struct Timing {
  std::string variant;
  double median_s = 0.0;
};
report::NamedReport named_run(const std::string& name, int minute,
                              const std::vector<Timing>& timings);

// How runs on a machine differ. All standard deviations are relative.
struct NoiseModel {
  double run_offset = 0.003;    // common to all cells of a run
  double cell_offset = 0.003;   // of each cell of a run
  double jitter = 0.01;         // log-normal, of each sample
  double drift = 0.004;         // of the time from the first to the last sample, through the clock
  double outlier_share = 0.02;  // samples that take 10 to 100 % longer
  int samples = 40;
};

// Draws runs. The same seed draws the same runs everywhere: only the engine is the library's.
class RunSimulator {
 public:
  RunSimulator(NoiseModel model, std::uint64_t seed) : model_(model), random_(seed) {}

  // A run with one cell for each of `medians_s`, each of another shape.
  report::NamedReport draw(const std::vector<double>& medians_s);

  double uniform();
  double normal();

 private:
  record::Measurement draw_cell(double median_s, double run_offset);

  NoiseModel model_;
  std::mt19937_64 random_;
  int runs_ = 0;
};

}  // namespace nf4bench::test
