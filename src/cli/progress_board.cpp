#include "cli/progress_board.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace nf4bench::cli {

ProgressBoard::ProgressBoard(std::vector<std::string> names, ProgressLine::Mode mode)
    : terminal_(terminal_of(STDERR_FILENO)), mode_(mode) {
  for (std::string& name : names) rows_.push_back({.name = std::move(name)});
}

void ProgressBoard::take(std::size_t index, std::string_view bytes) {
  Row& row = rows_[index];
  row.unfinished += bytes;
  for (std::size_t end = 0; (end = row.unfinished.find('\n')) != std::string::npos;) {
    const std::string line = row.unfinished.substr(0, end);
    row.unfinished.erase(0, end + 1);
    take_line(row, line);
  }
}

void ProgressBoard::take_line(Row& row, const std::string& line) {
  const std::optional<ProgressNews> news = progress_news(line);
  if (!news) {
    erase();
    write_stderr(fmt::format("{}: {}\n", row.name, line));
    row.last_line = line;
    return;
  }
  if (mode_ == ProgressLine::Mode::kSilent) return;
  row.progress = printable(news->text);
  const int tenths = static_cast<int>(10.0 * news->done);
  if (terminal_.rewrites) {
    draw();
  } else if (tenths > row.tenths) {
    write_stderr(fmt::format("{}: {}\n", row.name, row.progress));
  }
  row.tenths = std::max(row.tenths, tenths);
}

void ProgressBoard::clear() {
  erase();
  for (Row& row : rows_) {
    if (!row.unfinished.empty()) take_line(row, std::exchange(row.unfinished, ""));
  }
}

void ProgressBoard::draw() {
  std::string text = is_drawn_ ? fmt::format("\x1b[{}A", rows_.size()) : "";
  for (const Row& row : rows_) {
    std::string line = fmt::format("{}  {}", row.name, row.progress);
    const auto columns = static_cast<std::size_t>(terminal_.width - 1);
    if (line.size() > columns) line.resize(columns);
    text += line + "\x1b[K\n";
  }
  draw_on_stderr(text);
  is_drawn_ = true;
}

// Back to the first of the lines, and away with all below.
void ProgressBoard::erase() {
  if (is_drawn_) draw_on_stderr(fmt::format("\x1b[{}A\x1b[J", rows_.size()));
  is_drawn_ = false;
}

}  // namespace nf4bench::cli
