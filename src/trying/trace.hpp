#pragma once

#include "trying/attempt.hpp"

#include <string>

namespace nf4bench::trying {

// A try as SOL-ExecBench and FlashInfer-Bench keep it: a line of JSON, with its end, for each cell;
// one without axes where nothing ran. Their statuses are fewer: `log` has ours and the reason. An
// error that is not known is "NaN", and a speedup without a baseline 0, as they write them.
std::string trace_of(const Attempt& attempt);

}  // namespace nf4bench::trying
