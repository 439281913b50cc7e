#pragma once

#include "bench/run_plan.hpp"

namespace nf4bench::bench {

// Makes one call of the variants of the first operation of `plan`, plain launches on the tensor
// whose number options.single_call is, for a profiler that waits for it. Nothing is verified or
// timed.
void make_single_call(RunPlan& plan);

}  // namespace nf4bench::bench
