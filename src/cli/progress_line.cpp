#include "cli/progress_line.hpp"

#include "base/text.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{200};
constexpr double kLeastFractionForEta = 0.01;  // an estimate from less is a guess

constexpr std::string_view kNews = "progress ";

bool is_asked_for_news() {
  const char* const setting = std::getenv("NF4BENCH_PROGRESS");
  return setting != nullptr && std::string_view(setting) == "lines";
}

}  // namespace

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

ProgressLine::ProgressLine(Mode mode)
    : terminal_(terminal_of(STDERR_FILENO)),
      tells_(is_asked_for_news()),
      shows_(tells_ || (mode == Mode::kAuto && terminal_.rewrites)) {}

ProgressLine::~ProgressLine() {
  clear();
}

std::string ProgressLine::text(double fraction, const std::string& what) const {
  std::string left;
  if (fraction >= kLeastFractionForEta) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - started_).count();
    left = fmt::format(", {} left", text::format_duration(elapsed * (1.0 - fraction) / fraction));
  }
  return printable(fmt::format("[{:3.0f} %{}] {}", 100.0 * fraction, left, what));
}

void ProgressLine::update(double done, const std::string& what) {
  if (!shows_) return;
  const Clock::time_point now = Clock::now();
  if (is_drawn_ && now - drawn_at_ < kRedrawEvery) return;
  drawn_at_ = now;
  is_drawn_ = true;
  const double fraction = std::clamp(done, 0.0, 1.0);
  std::string line = text(fraction, what);
  if (tells_) return draw_on_stderr(fmt::format("{}{:.4f} {}\n", kNews, fraction, line));
  const auto columns = static_cast<std::size_t>(terminal_.width - 1);
  if (line.size() > columns) line.resize(columns);  // `what` is ASCII: names are escaped
  draw_on_stderr("\r" + line + "\x1b[K");
}

void ProgressLine::clear() {
  if (is_drawn_ && !tells_) draw_on_stderr("\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace nf4bench::cli
