#pragma once

// What check found, for people and for programs.

#include "check/check.hpp"
#include "json/json_text.hpp"
#include "text/sheet.hpp"

#include <vector>

namespace nf4bench::check {

// A section for each report with its findings, those that refuse it first.
text::Sheet check_sheet(const std::vector<Checked>& checked);

json::JsonText check_json(const std::vector<Checked>& checked);

}  // namespace nf4bench::check
