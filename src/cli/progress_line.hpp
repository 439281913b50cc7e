#pragma once

#include "base/terminal.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace nf4bench::cli {

// What one process says of its progress to the one that started it, a line on stderr, where
// bench::kTellProgress asks for it: the finished fraction, in [0, 1], and the text of a
// ProgressLine.
struct ProgressNews {
  double done = 0.0;
  std::string text;
};
std::optional<ProgressNews> progress_news(std::string_view line);  // empty: another line

// One line on stderr that says how far a job is and how long it may still take. Silent when stderr
// is no terminal that can overwrite a line. Redraws a few times a second at most, so that it does
// not disturb what is measured. Writes ProgressNews instead, in any mode, when it is asked for.
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
  std::string text(double fraction, const std::string& what) const;
  Terminal terminal_;
  bool tells_;  // ProgressNews
  bool shows_;
  bool is_drawn_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point drawn_at_{};
};

}  // namespace nf4bench::cli
