#pragma once

#include "base/error.hpp"

#include <atomic>
#include <optional>

namespace nf4bench::cli {

// From now on the first SIGINT or SIGTERM only sets the flag that is returned. A second one of the
// same kind ends the process at once, as it would without this call.
const std::atomic<bool>& watch_for_interruption();

// kInterrupted or kTerminated once such a signal has come; else empty.
std::optional<ExitCode> interruption();

}  // namespace nf4bench::cli
