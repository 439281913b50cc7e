#pragma once

#include "report/report.hpp"

namespace nf4bench {

// A finished run on a GPU: three geometries, rows of every status, both cache modes for one of
// them.
record::Report gpu_report();

// An interrupted run on a CPU: no ceiling but the copy, no clocks, no final state.
record::Report cpu_report();

}  // namespace nf4bench
