#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "bench/progress.hpp"
#include "bench/runner.hpp"
#include "bench/watchdog.hpp"

namespace nf4bench {

// What the parts of a run share. Borrowed; lives as long as run_benchmark().
struct RunContext {
  Device& device;
  const std::vector<SelectedVariant>& variants;
  const Ceilings& ceilings;
  const RunOptions& options;
  const RunObserver& observer;
  const std::atomic<bool>& interrupted;
  std::function<double()> clock_s;
  Progress& progress;
  Watchdog& watchdog;

  bool is_interrupted() const { return interrupted.load(std::memory_order_relaxed); }
};

}  // namespace nf4bench
