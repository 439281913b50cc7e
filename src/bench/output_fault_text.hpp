#pragma once

#include "bench/cell.hpp"

#include <string>

namespace nf4bench::bench {

// Why what a variant left in a timed sample is wrong: "in a timed sample (cold graph, set 7 of
// 115): 8388608 of 16777216 elements are not written".
std::string describe_fault(const RunContext& context, const CellSpec& spec,
                           const device::OutputFault& fault);

}  // namespace nf4bench::bench
