#pragma once

#include "base/terminal.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::text {

// Whether progress is shown.
enum class ProgressMode { kAuto, kSilent };

// One line on stderr that says how far a job is and how long it may still take. Redraws a few times
// a second at most, so that it does not disturb what is measured; where a line cannot be
// overwritten, a plain one comes out every half minute. What another process of this program is to
// show comes out as news for its ProgressBoard instead, in any mode: bench::kTellProgress asks for
// that.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  explicit ProgressLine(ProgressMode mode, Now now = Clock::now);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `done` is the finished fraction, in [0, 1].
  void update(double done, const std::string& what);

  // Removes the line.
  void clear();

 private:
  std::string text(double fraction, const std::string& what) const;

  Terminal terminal_;
  bool tells_;  // news
  bool shows_;
  bool is_drawn_ = false;
  Now now_;
  Clock::time_point started_ = now_();
  Clock::time_point shown_at_ = started_;
};

// The progress of several processes on stderr, a line for each. Where lines cannot be overwritten,
// a plain line comes out for each tenth that one of them has done.
class ProgressBoard {
 public:
  // `names` are those of the processes, as the lines begin.
  ProgressBoard(const std::vector<std::string>& names, ProgressMode mode);
  ~ProgressBoard() { clear(); }
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  // What process number `index` wrote to stderr: its progress is shown, other whole lines come out
  // with its name.
  void take(std::size_t index, std::string_view bytes);

  // The last line of process number `index` that told no progress; empty when there was none.
  const std::string& last_line(std::size_t index) const { return rows_[index].last_line; }

  // Removes the lines; what is left of an unfinished line comes out.
  void clear();

 private:
  struct Row {
    std::string name;
    std::string unfinished{};  // line
    std::string progress{};
    int tenths = -1;  // that were told
    std::string last_line{};
  };

  void take_line(Row& row, const std::string& line);
  void draw();
  void erase();

  Terminal terminal_;
  ProgressMode mode_;
  std::vector<Row> rows_;
  bool is_drawn_ = false;
};

}  // namespace nf4bench::text
