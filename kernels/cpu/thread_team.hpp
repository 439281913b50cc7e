#pragma once

// The threads that CPU variants share their work among.
//
// An OpenMP loop ends when each thread of the team has arrived, also one that the system has not
// run yet. On a machine with other work that is a scheduler's time slice of several milliseconds,
// whatever the loop does. Here nobody waits for a thread that has not begun.

#include <cstdint>
#include <functional>

namespace nf4bench::kernels::cpu {

// Calls body(part) for each part in [0, parts), on up to `threads` threads, the caller's included.
// Each thread begins with a contiguous run of parts, the same one in every call, so that it meets
// the same memory, and then takes what others have left. `body` must not throw. Any thread may
// call: a call from within another, or beside another's, runs on the caller's thread alone, and so
// does one for which there is no memory.
void run_parts(int threads, std::int64_t parts, const std::function<void(std::int64_t part)>& body);

// Gets `threads` threads, those of the next call, out of their sleep, so that its time does not
// depend on how long they rested. Waits for them only for a moment.
void wake_threads(int threads);

}  // namespace nf4bench::kernels::cpu
