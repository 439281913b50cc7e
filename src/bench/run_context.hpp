#pragma once

#include "bench/progress.hpp"
#include "bench/runner.hpp"
#include "bench/watchdog.hpp"
#include "device/cpu/host_load.hpp"
#include "operation/operation.hpp"

#include <atomic>
#include <vector>

namespace nf4bench::bench {

// What the parts of a run share. Borrowed; lives as long as run_benchmark().
struct RunContext {
  device::Device& device;
  const operation::Operation& operation;
  const std::vector<plan::SelectedVariant>& variants;
  const record::Ceilings& ceilings;
  const record::RunOptions& options;
  const RunObserver& observer;
  const std::atomic<bool>& interrupted;
  const Clocks& clocks;
  Progress& progress;
  Watchdog& watchdog;
  device::ThreadWatch& threads;

  // What the program has for the operation on the device.
  const kernels::Catalog& catalog() const { return operation.catalog(device.info().kind); }

  bool is_interrupted() const { return interrupted.load(std::memory_order_relaxed); }
};

}  // namespace nf4bench::bench
