#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace nf4bench::bench {

// The two kinds of work in a run; how fast each goes is learnt apart.
enum class Work : std::uint8_t { kVerify, kTime };

// Turns finished steps into a fraction of the run that never falls. Steps are announced with a cost
// in rough seconds; how long they really take corrects the costs of those to come.
class Progress {
 public:
  using Report = std::function<void(double done, const std::string& what)>;

  // `clock_s` counts seconds; `report` may be empty.
  Progress(std::function<double()> clock_s, Report report);

  // Adds to what the whole run will cost. Before the first step.
  void expect(Work work, double cost);

  // Ends the step before, if any, and starts one.
  void begin(Work work, double cost, const std::string& what);

  // Says how much of the current step is done, in [0, 1]. Reports only so often.
  void advance(double fraction);

  // Ends the last step. The run is done.
  void finish();

 private:
  struct Account {
    double expected = 0.0;   // cost of all steps
    double done = 0.0;       // cost of the ended ones
    double elapsed_s = 0.0;  // what these took
    double remaining_s() const;
  };

  void end_step();
  void report(double fraction);

  std::function<double()> clock_s_;
  Report report_;
  std::array<Account, 2> accounts_;
  Work work_ = Work::kVerify;
  double cost_ = 0.0;
  std::string what_;
  double started_s_ = 0.0;
  double reported_s_ = 0.0;
  double highest_ = 0.0;
};

}  // namespace nf4bench::bench
