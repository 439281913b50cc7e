#pragma once

#include "bench/estimate.hpp"
#include "bench/runner.hpp"
#include "plan/plan.hpp"

#include <string>
#include <vector>

namespace nf4bench::cli {

// Everything that "nf4bench run" has settled before it measures. Borrowed.
struct RunPlan {
  const device::Device& device;
  const std::vector<plan::PlannedTensor>& tensors;
  const std::vector<plan::SelectedVariant>& variants;
  const record::Settings& options;
};

// What --dry-run prints.
std::string describe(const RunPlan& plan, const bench::RunEstimate& estimate);

}  // namespace nf4bench::cli
