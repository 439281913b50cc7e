#pragma once

// What else than the code that is measured takes of the processors: other programs, other virtual
// machines, and threads of this program that nobody has called.

#include "record/measurement.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::device {

// Time that some processors have spent since the system started, in ticks.
struct ProcessorTimes {
  double busy = 0.0;
  double stolen = 0.0;  // the processor was another virtual machine's
  double total = 0.0;
};

// Reads below `root`, "/" but for tests, for the processors with the numbers `processors`; absent
// when the system does not tell for each of them.
std::optional<ProcessorTimes> read_processor_times(const std::filesystem::path& root,
                                                   const std::vector<int>& processors);

// The processors and this process at one moment, in time since they began.
struct LoadReading {
  int processors = 0;  // that this process may run on
  std::optional<ProcessorTimes> times;
  double own_ticks = 0.0;  // of all threads of this process
  std::int64_t involuntary_switches = 0;
};

// Reads below `root`, "/" but for tests. Of other processes that work for this one, their processor
// time so far counts as its own.
LoadReading read_load(const std::filesystem::path& root = "/", double seconds_of_others = 0.0);

// What happened between two readings; absent where the system does not tell, or no tick has passed.
std::optional<record::HostLoad> load_between(const LoadReading& start, const LoadReading& end);

// The ids of the threads of this program that other people's code may have started: all but the
// caller and the teams of base/parallel.hpp and cpu/thread_team.hpp.
std::vector<int> foreign_threads();

// Processor time that a thread of this program has taken, in seconds; 0 once it has ended.
double thread_seconds(int id);

// What threads that nobody had called took of the processors.
struct IdleTime {
  double wall_s = 0.0;                     // that was watched
  std::map<std::string, double> busy_s{};  // of processors, by whose threads; "": nobody knows
};

// Tells how busy the threads of other people's libraries are while somebody else is called. Those
// of OpenMP and of TBB spin for a while, or for ever, when they have nothing to do.
class ThreadWatch {
 public:
  using List = std::function<std::vector<int>()>;
  using Seconds = std::function<double(int id)>;

  explicit ThreadWatch(List list = foreign_threads, Seconds seconds = thread_seconds)
      : list_(std::move(list)), seconds_(std::move(seconds)) {}

  // Threads that are there for the first time are `owner`'s from now on.
  void note_new(const std::string& owner);

  // Between begin() and end() lies a call of others than their owners, which lasts `wall_s`.
  void begin();
  void end(double wall_s, IdleTime& sum);

 private:
  struct Watched {
    int id = 0;
    std::string owner;
    double begun_s = 0.0;
  };

  List list_;
  Seconds seconds_;
  std::set<int> known_;
  std::vector<Watched> threads_;
};

}  // namespace nf4bench::device
