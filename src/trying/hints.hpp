#pragma once

#include "trying/attempt.hpp"

#include <string>

namespace nf4bench::trying {

// What `fused` needs at most, whatever GPU and type it is for: tests/gpu/sass_budget.json holds the
// kernels that it chooses to this. Counting those inside this program would take half a minute.
inline constexpr double kInstructionsOfFused = 6.0;  // an element

// What to change in a kernel, as far as the facts and the counters of `cell` tell, on a device of
// so many multiprocessors: all that applies of a closed list, with its numbers. Empty: nothing
// does.
std::string hint_for(const TriedCell& cell, int multiprocessors);

}  // namespace nf4bench::trying
