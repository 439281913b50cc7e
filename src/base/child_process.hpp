#pragma once

#include <atomic>
#include <csignal>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench {

// A process to be started.
struct ChildCommand {
  std::vector<std::string> arguments;    // the program's name first
  std::vector<std::string> environment;  // "NAME=value", in place of this process's own
  bool is_this_program = true;           // else the name is looked for as a shell does
  std::string input{};                   // all that it reads from stdin; empty: this process's own
  bool leads_group = false;  // signals reach what it starts, too, and nothing of that survives it
};

// What a process left behind. One that a signal ended has 128 + its number as exit code.
struct ChildOutcome {
  int exit_code = 0;
  std::string out;
  std::string err;          // empty where ChildWatch::on_err got it
  bool was_silent = false;  // for too long, and ended for that
};

// How processes are looked after. Borrows the flag.
struct ChildWatch {
  const std::atomic<bool>& interrupted;  // when it is set, each process gets a signal:
  std::function<int()> stop_signal = [] { return SIGTERM; };  // this one

  // Gets what process number `index` writes to stderr, as it comes.
  std::function<void(std::size_t index, std::string_view bytes)> on_err{};

  double silence_s = 0.0;  // a process that writes nothing for so long is ended; 0: none is

  // From a signal to the one that nothing survives.
  double grace_s = 30.0;
  double grace_of_the_silent_s = 5.0;
};

// The file that a process of that name is started from: the first in a folder of PATH; empty: none.
std::string program_on_path(const std::string& name);

// Starts a process for each of `commands`, all at once, and waits for all. They are in the
// same process group, so that Ctrl-C reaches them, too (one that leads a group of its own gets the
// stop signal alone), and die when this process does. One that
// does not heed the signal that it got is killed. A process that cannot be
// started is one that ended with 127.
std::vector<ChildOutcome> run_children(const std::vector<ChildCommand>& commands,
                                       const ChildWatch& watch);

}  // namespace nf4bench
