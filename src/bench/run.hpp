#pragma once

#include "bench/run_plan.hpp"
#include "record/report.hpp"

#include <atomic>
#include <functional>
#include <string>

namespace nf4bench::bench {

// What a run tells while it goes on. All members may be empty.
struct RunEvents {
  std::function<void()> on_rows{};  // the report has more of them
  std::function<void(double done, const std::string& what)> on_progress{};
  std::function<void(const std::string& problem)> on_hang{};  // see RunObserver
};

// What the report of a run says before anything is measured.
record::Report start_report(const RunPlan& plan);

// Measures all that is planned, into `report`: what the memory can do, each operation, and more
// tokens and each variant alone where that is asked for. An Error leaves what there is by then.
void measure(RunPlan& plan, record::Report& report, const RunEvents& events,
             const std::atomic<bool>& interrupted);

}  // namespace nf4bench::bench
