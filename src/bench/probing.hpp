#pragma once

#include "bench/verification.hpp"

#include <vector>

namespace nf4bench::bench {

// Holds the variants whose verdict in `verdicts` (one for each variant of the run) is still passed
// to what the operation's probes for `problem` expect, and returns the verdicts brought up to date.
// `weight` is the weight of the run. Stops early when interrupted.
std::vector<Verdict> probe_variants(const RunContext& context, const nf4::Nf4Tensor& weight,
                                    const kernels::Problem& problem, std::vector<Verdict> verdicts);

}  // namespace nf4bench::bench
