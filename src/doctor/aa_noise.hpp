#pragma once

#include "compare/run_noise.hpp"
#include "doctor/aa_run.hpp"

#include <vector>

namespace nf4bench::doctor {

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
