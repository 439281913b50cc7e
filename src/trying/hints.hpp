#pragma once

#include "trying/attempt.hpp"

#include <string>

namespace nf4bench::trying {

// What to change in a kernel, as far as the facts and the counters of `cell` tell, on a device of
// so many multiprocessors: all that applies of a closed list, with its numbers. Empty: nothing
// does.
std::string hint_for(const TriedCell& cell, int multiprocessors);

}  // namespace nf4bench::trying
