#pragma once

#include <string_view>

namespace nf4bench {

// What can be done on an output stream.
struct Terminal {
  bool is_tty = false;
  bool colour = false;     // a TTY whose user has not asked for plain text (NO_COLOR, TERM=dumb)
  bool rewrites = false;   // a TTY that can overwrite its current line
  bool has_width = false;  // the terminal or COLUMNS says how wide it is; a pipe does not
  int width = 100;         // columns
};

// Looks at the stream behind `descriptor`.
Terminal terminal_of(int descriptor);

// Writes all of `text` to stdout and flushes. Throws Error(kOutput) when that fails.
void write_stdout(std::string_view text);

// Writes lines for people to stderr. Whatever a terminal would act on is escaped, see printable():
// messages name what stands in files of strangers. What cannot be written there is lost.
void write_stderr(std::string_view lines);

// Writes `text` to stderr as it is: what moves the cursor, or has colours of its own.
void draw_on_stderr(std::string_view text);

}  // namespace nf4bench
