#pragma once

#include "scratch.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace nf4bench::test {

using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// What a finished process left behind. A process that a signal ended has 128 + its number as exit
// code, as in a shell.
struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
  std::int64_t peak_bytes = 0;  // of memory that was in use at once
  double cpu_seconds = 0.0;     // of all its threads
};

// Where a process writes.
enum class Stream { kPipe, kTerminal };

struct Command {
  std::vector<std::string> arguments;                     // the program first
  std::vector<std::string> environment = {"NO_COLOR=1"};  // set on top of this process's own
  Stream output_stream = Stream::kPipe;
  Stream error_stream = Stream::kPipe;
};

// Why no process can be given a terminal here, as in a bare chroot without /dev/pts; empty when one
// can.
std::string why_no_terminal();

// A process that runs beside the test. The destructor ends it.
class Process {
 public:
  explicit Process(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const;
  pid_t pid() const { return pid_; }

  // Reads both streams to their ends and waits for the process.
  Outcome wait();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
};

// Runs the program that this build made, "nf4bench", with `arguments`.
Outcome nf4bench(const std::vector<std::string>& arguments);
Command nf4bench_command(const std::vector<std::string>& arguments);

// Runs a line of bash; $NF4BENCH is the program.
Outcome shell(const std::string& line);

// The path of a file of the checkout's data/ folder.
std::string sample(const std::string& name);

}  // namespace nf4bench::test
