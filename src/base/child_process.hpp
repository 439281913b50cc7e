#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace nf4bench {

// This program, to be started again.
struct ChildCommand {
  std::vector<std::string> arguments;    // the program's name first
  std::vector<std::string> environment;  // "NAME=value", in place of this process's own
};

// What a process left behind. One that a signal ended has 128 + its number as exit code.
struct ChildOutcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// Starts this program with `command` and waits for it. It is in the same process group, so that
// Ctrl-C reaches both. It gets a SIGTERM when `interrupted` is set, and dies when this process
// does. A process that cannot be started is one that ended with 127.
ChildOutcome run_child(const ChildCommand& command, const std::atomic<bool>& interrupted);

}  // namespace nf4bench
