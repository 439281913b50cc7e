#pragma once

// What the tables about one device and about several have in common.

#include "doctor/finding.hpp"
#include "record/device_info.hpp"
#include "report/table/parts.hpp"

#include <vector>

namespace nf4bench::doctor {

// The device, then its findings.
void append_findings(report::TablePage& page, const record::DeviceInfo& device,
                     const std::vector<Finding>& findings);

}  // namespace nf4bench::doctor
