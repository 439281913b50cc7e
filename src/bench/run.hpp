#pragma once

#include "bench/run_plan.hpp"
#include "bench/runner.hpp"
#include "device/device.hpp"
#include "record/report.hpp"
#include "report/report.hpp"

#include <atomic>
#include <functional>
#include <string>

namespace nf4bench::bench {

// What a report says of a run before it measures: program, machine, device and settings.
record::Report start_report(device::Device& device, const record::RunOptions& options);

// Lists in `report` what is to be measured: the operation, its variants and those of its tensors
// that no operation before it has. The hashes of these come when they are loaded.
void list_operation(record::Report& report, const RunRequest& request);

// Notes the hash of a tensor that is timed, and warns of what of any tensor is infinite or NaN in a
// type of the run.
void note_loaded(record::Report& report, const LoadedTensor& loaded);

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

// Makes one call of the variants of the first operation of `plan`, plain launches on the tensor
// whose number options.single_call is, for a profiler that waits for it. Nothing is verified or
// timed.
void make_single_call(RunPlan& plan);

}  // namespace nf4bench::bench
