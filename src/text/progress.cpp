#include "text/progress.hpp"

#include "base/text.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <unistd.h>
#include <utility>

namespace nf4bench::text {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{200};
constexpr std::chrono::seconds kPlainLineEvery{30};
constexpr double kLeastFractionForEta = 0.01;  // an estimate from less is a guess

// What a process tells of its progress to the one that started it, a line on stderr: the finished
// fraction, in [0, 1], and the text of a ProgressLine.
struct ProgressNews {
  double done = 0.0;
  std::string text{};
};

constexpr std::string_view kNews = "progress ";

std::optional<ProgressNews> progress_news(std::string_view line) {
  if (!line.starts_with(kNews)) return std::nullopt;
  line.remove_prefix(kNews.size());
  ProgressNews news;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), news.done);
  const auto length = static_cast<std::size_t>(end - line.data());
  if (error != std::errc() || length >= line.size()) return std::nullopt;
  news.text = line.substr(length + 1);
  return news;
}

bool is_asked_for_news() {
  const char* const setting = std::getenv("NF4BENCH_PROGRESS");
  return setting != nullptr && std::string_view(setting) == "lines";
}

std::string cut(std::string line, const Terminal& terminal) {
  const auto columns = static_cast<std::size_t>(terminal.width - 1);
  if (line.size() > columns) line.resize(columns);  // names in it are escaped, so that it is ASCII
  return line;
}

}  // namespace

ProgressLine::ProgressLine(ProgressMode mode, Now now)
    : terminal_(terminal_of(STDERR_FILENO)),
      tells_(is_asked_for_news()),
      shows_(tells_ || mode == ProgressMode::kAuto),
      now_(std::move(now)) {}

std::string ProgressLine::text(double fraction, const std::string& what) const {
  std::string left;
  if (fraction >= kLeastFractionForEta) {
    const double elapsed = std::chrono::duration<double>(now_() - started_).count();
    left = fmt::format(", {} left", format_duration(elapsed * (1.0 - fraction) / fraction));
  }
  return printable(fmt::format("[{:3.0f} %{}] {}", 100.0 * fraction, left, what));
}

void ProgressLine::update(double done, const std::string& what) {
  if (!shows_) return;
  const bool is_plain = !tells_ && !terminal_.rewrites;
  const Clock::duration since = now_() - shown_at_;
  if (is_plain ? since < kPlainLineEvery : is_drawn_ && since < kRedrawEvery) return;
  shown_at_ = now_();
  const double fraction = std::clamp(done, 0.0, 1.0);
  const std::string line = text(fraction, what);
  if (is_plain) return write_stderr(fmt::format("nf4bench: {}\n", line));
  is_drawn_ = true;
  draw_on_stderr(tells_ ? fmt::format("{}{:.4f} {}\n", kNews, fraction, line)
                        : "\r" + cut(line, terminal_) + "\x1b[K");
}

void ProgressLine::clear() {
  if (is_drawn_ && !tells_) draw_on_stderr("\r\x1b[K");
  is_drawn_ = false;
}

ProgressBoard::ProgressBoard(const std::vector<std::string>& names, ProgressMode mode)
    : terminal_(terminal_of(STDERR_FILENO)), mode_(mode) {
  for (const std::string& name : names) rows_.push_back({.name = name});
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
  if (mode_ == ProgressMode::kSilent) return;
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
    text += cut(fmt::format("{}  {}", row.name, row.progress), terminal_) + "\x1b[K\n";
  }
  draw_on_stderr(text);
  is_drawn_ = true;
}

// Back to the first of the lines, and away with all below.
void ProgressBoard::erase() {
  if (is_drawn_) draw_on_stderr(fmt::format("\x1b[{}A\x1b[J", rows_.size()));
  is_drawn_ = false;
}

}  // namespace nf4bench::text
