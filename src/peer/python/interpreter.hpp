#pragma once

#include <string>

namespace nf4bench::peer {

// An interpreter of this machine, as it describes itself.
struct InterpreterFacts {
  std::string executable;      // a virtual environment's own where it is one
  std::string version;         // "3.11.2"
  std::string shared_library;  // of its code, to be loaded; empty when it has none
  std::string home;            // its folders, as PYTHONHOME takes them
};

// Asks python3, or what NF4BENCH_PYTHON names. Throws Error(kInput) when it cannot be asked.
InterpreterFacts find_interpreter();

// Loads the interpreter's library into this process, starts it and has it run `source`. It is never
// stopped. From then on it is reached by callbacks that `source` has made, from any thread. Throws
// Error(kInput) saying why that cannot be done.
void start_interpreter(const InterpreterFacts& facts, const std::string& source);

}  // namespace nf4bench::peer
