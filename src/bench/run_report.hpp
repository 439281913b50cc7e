#pragma once

#include "device/device.hpp"
#include "plan/plan.hpp"
#include "report/report.hpp"

#include <vector>

namespace nf4bench::bench {

// What a report says of a run before it measures: program, machine, device, settings and variants.
record::Report start_report(const std::vector<std::string>& argv, device::Device& device,
                            const record::Settings& options,
                            const std::vector<plan::SelectedVariant>& variants);

// Lists the planned tensors in `report`. When one is first loaded its hash is filled in, and what
// of it is infinite or NaN in a type of the run becomes a warning; `report` outlives `planned`.
void describe_tensors(record::Report& report, std::vector<plan::PlannedTensor>& planned);

}  // namespace nf4bench::bench
