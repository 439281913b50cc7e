#pragma once

#include <cstddef>
#include <deque>
#include <string>

namespace nf4bench::peer {

// Processor time of a process, as the system counts it.
struct ProcessorTime {
  double caller_s = 0.0;  // of the thread that makes the calls
  double all_s = 0.0;     // of all threads
};

// Calls of a variant in another process: how long they took by that process's own clock, and the
// processor time that the system saw.
struct SeenCalls {
  std::size_t calls = 0;
  double said_s = 0.0;
  ProcessorTime seen{};
};

// Compares what a process says of its calls with what the system has seen of it. A thread cannot
// take more processor time than passes, however busy the machine is.
class SecondClock {
 public:
  explicit SecondClock(int threads) : threads_(threads) {}

  // Why what was said cannot be true, now or of the calls before; empty when it can. Messages take
  // processor time, too, so that only calls that last long in all tell.
  std::string implausibility(const SeenCalls& made);

  // From now on calls are of another kind.
  void forget() { said_.clear(); }

 private:
  int threads_;
  std::deque<double> said_;  // for a call, of the last calls
};

// Why `passed_s`, from the message that asked for some calls on a GPU to its answer, cannot be true
// when they took `said_s`; empty when it can. Both processes wait in between, so that it is long on
// a busy machine, too: only one that is so again and again tells something.
std::string contradiction_of_turn(std::size_t calls, double said_s, double passed_s);

}  // namespace nf4bench::peer
