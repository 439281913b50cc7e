#include "base/terminal.hpp"

#include "base/error.hpp"
#include "base/parsed.hpp"
#include "base/text.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace nf4bench {
namespace {

constexpr int kMinWidth = 40;
constexpr int kMaxWidth = 250;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Columns of the terminal; 0 when they are not known.
int columns_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0) return size.ws_col;
  return 0;
}

}  // namespace

Terminal terminal_of(int descriptor) {
  Terminal terminal;
  terminal.is_tty = isatty(descriptor) == 1;
  const std::string term = environment("TERM");
  terminal.rewrites = terminal.is_tty && term != "dumb" && term != "unknown";
  terminal.colour = terminal.rewrites && environment("NO_COLOR").empty();
  int width = parsed<int>(environment("COLUMNS")).value_or(0);
  if (width <= 0 && terminal.is_tty) width = columns_of(descriptor);
  terminal.has_width = width > 0;
  if (terminal.has_width) terminal.width = std::min(std::max(width, kMinWidth), kMaxWidth);
  return terminal;
}

void write_stdout(std::string_view text) {
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0) return;
  throw Error(ErrorKind::kOutput, "stdout cannot be written: {}; the output is incomplete",
              std::strerror(errno));
}

void write_stderr(std::string_view lines) {
  std::string safe;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    safe += printable(lines.substr(0, end));
    if (end == std::string_view::npos) break;
    safe += '\n';
    lines.remove_prefix(end + 1);
  }
  draw_on_stderr(safe);
}

void draw_on_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace nf4bench
