#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::device {

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
