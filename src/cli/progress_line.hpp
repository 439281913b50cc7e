#pragma once

#include "base/terminal.hpp"

#include <chrono>
#include <string>

namespace nf4bench::cli {

// One line on stderr that says how far a job is and how long it may still take. Silent when stderr
// is no terminal that can overwrite a line. Redraws a few times a second at most, so that it does
// not disturb what is measured.
class ProgressLine {
 public:
  enum class Mode { kAuto, kSilent };

  explicit ProgressLine(Mode mode);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `done` is the finished fraction, in [0, 1].
  void update(double done, const std::string& what);

  // Removes the line.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  Terminal terminal_;
  bool shows_;
  bool is_drawn_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point drawn_at_{};
};

}  // namespace nf4bench::cli
