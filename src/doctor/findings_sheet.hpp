#pragma once

#include "doctor/diagnosis.hpp"
#include "text/sheet.hpp"

#include <vector>

namespace nf4bench::doctor {

// A row for each finding that is at least as bad as `least`. Bad ones come with a reason.
text::Sheet findings_sheet(const std::vector<Finding>& findings, Severity least);

// A row for each device. For programs it has all that was found, as docs/doctor.schema.json says.
text::Sheet devices_sheet(const std::vector<Diagnosis>& diagnoses);

}  // namespace nf4bench::doctor
