#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "bench/runner.hpp"
#include "bench/estimate.hpp"

namespace nf4bench {

// Everything that "nf4bench run" has settled before it measures. Borrowed.
struct RunPlan {
  const Device& device;
  const std::vector<PlannedTensor>& tensors;
  const std::vector<SelectedVariant>& variants;
  const RunOptions& options;
};

// What --dry-run prints.
std::string describe(const RunPlan& plan, const RunEstimate& estimate);

}  // namespace nf4bench
