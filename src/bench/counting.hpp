#pragma once

#include "record/counters.hpp"
#include "record/report.hpp"
#include "record/run_options.hpp"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::bench {

// An operation of a run, and the ids of its tensors in the order of its plan.
struct CountedOperation {
  std::string name;
  std::vector<std::string> tensors;
};

// Nsight Compute is ended when it takes longer with one variant.
inline constexpr double kLongestCountingS = 120.0;

// What counting works with. Borrowed.
struct Counting {
  const record::RunOptions& options;  // of the run that made the report
  const std::vector<CountedOperation>& operations;
  const std::function<void(double done, const std::string& what)>& on_progress;  // may be empty
  const std::atomic<bool>& interrupted;
  double limit_s = kLongestCountingS;
};

// Gives the variants of `report` that match options.why their counters, and what limits them: each
// is called once more under Nsight Compute, in a process of its own. Those that passed, on each
// geometry in each type in the first cell that was measured. What stands in the way of all is a
// warning, too. Returns early when interrupted.
void count(record::Report& report, const Counting& counting);

// Why Nsight Compute did not count, as `text` says that it and its program wrote, in one line.
struct CountingFailure {
  std::string reason;
  bool is_of_all = false;  // another variant would fare no better
};
CountingFailure failure_in(const std::string& text);

// The metrics of Nsight Compute that Counters are made of, by their names there.
const std::vector<std::string>& ncu_metrics();

// What `text`, written by "ncu --csv --page raw", says of all kernels in its table; empty where
// there is no table. A value that is no number, or of a unit that is not known, is absent.
std::optional<record::Counters> counters_in(const std::string& text);

// Those of `metrics` that a line of `text` which tells of an error names: this GPU, or this version
// of Nsight Compute, has none of them, and refuses all the others, too.
std::vector<std::string> refused_metrics(const std::string& text,
                                         const std::vector<std::string>& metrics);

}  // namespace nf4bench::bench
