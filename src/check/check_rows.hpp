#pragma once

#include "check/check.hpp"

#include <vector>

namespace nf4bench::check {

// What the rows of `report` show.
std::vector<Finding> check_rows(const record::Report& report);

}  // namespace nf4bench::check
