#pragma once

#include "base/error.hpp"

#include <atomic>
#include <optional>

namespace nf4bench {

// From now on the first SIGINT or SIGTERM only sets the flag that is returned. A second one of the
// same kind ends the process at once, as it would without this call.
const std::atomic<bool>& watch_for_interruption();

// What a child process gets once such a signal has come: the other one of the two, because a
// terminal or a batch system may have sent the first to all processes.
int signal_for_children();

// kInterrupted or kTerminated once such a signal has come; else empty.
std::optional<ExitCode> interruption();

}  // namespace nf4bench
