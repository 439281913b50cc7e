#include "cli/progress_line.hpp"

#include "base/text.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>

namespace nf4bench::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{200};
constexpr double kLeastFractionForEta = 0.01;  // an estimate from less is a guess

}  // namespace

ProgressLine::ProgressLine(Mode mode)
    : terminal_(terminal_of(STDERR_FILENO)), shows_(mode == Mode::kAuto && terminal_.rewrites) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::update(double done, const std::string& what) {
  if (!shows_) return;
  const Clock::time_point now = Clock::now();
  if (is_drawn_ && now - drawn_at_ < kRedrawEvery) return;
  drawn_at_ = now;
  const double fraction = std::clamp(done, 0.0, 1.0);
  std::string left;
  if (fraction >= kLeastFractionForEta) {
    const double elapsed = std::chrono::duration<double>(now - started_).count();
    left = fmt::format(", {} left", text::format_duration(elapsed * (1.0 - fraction) / fraction));
  }
  std::string line = printable(fmt::format("[{:3.0f} %{}] {}", 100.0 * fraction, left, what));
  const auto columns = static_cast<std::size_t>(terminal_.width - 1);
  if (line.size() > columns) line.resize(columns);  // `what` is ASCII: names are escaped
  draw_on_stderr("\r" + line + "\x1b[K");
  is_drawn_ = true;
}

void ProgressLine::clear() {
  if (is_drawn_) draw_on_stderr("\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace nf4bench::cli
