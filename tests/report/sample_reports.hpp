#pragma once

#include "report/report.hpp"

namespace nf4bench {

// A finished run on a GPU: two geometries, rows of every status, both cache modes for one of them.
record::Report gpu_report();

// An interrupted run on a CPU: no ceiling but the copy, no clocks, no final state.
record::Report cpu_report();

// Matrix products with 1, 8 and 64 tokens on the same GPU: one geometry, four variants, one of
// which is skipped with 64 tokens; rates for a roof.
record::Report matmul_report();

}  // namespace nf4bench
