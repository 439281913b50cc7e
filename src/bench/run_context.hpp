#pragma once

#include "bench/progress.hpp"
#include "bench/runner.hpp"
#include "bench/watchdog.hpp"

#include <atomic>
#include <functional>
#include <vector>

namespace nf4bench::bench {

// What the parts of a run share. Borrowed; lives as long as run_benchmark().
struct RunContext {
  device::Device& device;
  const std::vector<plan::SelectedVariant>& variants;
  const record::Ceilings& ceilings;
  const record::Settings& options;
  const RunObserver& observer;
  const std::atomic<bool>& interrupted;
  std::function<double()> clock_s;
  Progress& progress;
  Watchdog& watchdog;

  bool is_interrupted() const { return interrupted.load(std::memory_order_relaxed); }
};

}  // namespace nf4bench::bench
