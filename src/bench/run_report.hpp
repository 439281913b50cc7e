#pragma once

#include "bench/runner.hpp"
#include "device/device.hpp"
#include "plan/plan.hpp"
#include "report/report.hpp"

#include <vector>

namespace nf4bench::bench {

// What a report says of a run before it measures: program, machine, device, settings and variants.
record::Report start_report(const std::vector<std::string>& argv, device::Device& device,
                            const record::Settings& options,
                            const std::vector<plan::SelectedVariant>& variants);

// Lists the planned tensors in `report`; their hashes come when they are loaded.
void list_tensors(record::Report& report, const std::vector<plan::PlannedTensor>& planned);

// Notes the hash of a tensor that is timed, and warns of what of any tensor is infinite or NaN in a
// type of the run.
void note_loaded(record::Report& report, const LoadedTensor& loaded);

}  // namespace nf4bench::bench
