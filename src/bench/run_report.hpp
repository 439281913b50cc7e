#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "device/device.hpp"
#include "report/report.hpp"

namespace nf4bench {

// What a report says of a run before it measures: program, machine, device, settings and variants.
Report start_report(const std::vector<std::string>& argv, Device& device, const RunOptions& options,
                    const std::vector<SelectedVariant>& variants);

// Lists the planned tensors in `report`. When one is first loaded its hash is filled in, and what
// of it is infinite or NaN in a type of the run becomes a warning; `report` outlives `planned`.
void describe_tensors(Report& report, std::vector<PlannedTensor>& planned);

}  // namespace nf4bench
