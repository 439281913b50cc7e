#pragma once

#include "base/terminal.hpp"
#include "cli/progress_line.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::cli {

// The progress of several processes on stderr, a line for each. Where lines cannot be overwritten,
// a plain line comes out for each tenth that one of them has done.
class ProgressBoard {
 public:
  // `names` are those of the processes, as the lines begin.
  ProgressBoard(std::vector<std::string> names, ProgressLine::Mode mode);
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
  ProgressLine::Mode mode_;
  std::vector<Row> rows_;
  bool is_drawn_ = false;
};

}  // namespace nf4bench::cli
