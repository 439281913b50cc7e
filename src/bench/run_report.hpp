#pragma once

#include "bench/runner.hpp"
#include "device/device.hpp"
#include "plan/plan.hpp"
#include "report/report.hpp"

#include <vector>

namespace nf4bench::bench {

// What a report says of a run before it measures: program, machine, device and settings.
record::Report start_report(device::Device& device, const record::RunOptions& options);

// Lists in `report` what is to be measured: the operation, its variants and those of its tensors
// that no operation before it has. The hashes of these come when they are loaded.
void list_operation(record::Report& report, const RunRequest& request);

// Notes the hash of a tensor that is timed, and warns of what of any tensor is infinite or NaN in a
// type of the run.
void note_loaded(record::Report& report, const LoadedTensor& loaded);

}  // namespace nf4bench::bench
