#pragma once

#include <string>
#include <string_view>

namespace nf4bench {

// `text` fit for a terminal: control characters, quotes, backslashes and bytes that are not valid
// UTF-8 are escaped (\n, \x1b, \u0000); a text of more than `max_chars` characters is cut and ends
// in "...".
std::string escaped(std::string_view text, std::size_t max_chars = 200);

// `text` on one line, with those of its characters escaped in the same way that a terminal would
// act on; quotes and backslashes stay. What has been escaped stays as it is.
std::string printable(std::string_view text);

// True for characters that move the cursor, change colours, break the line or reorder the text
// around them: the controls of ASCII and of C1, and what Unicode has beyond these.
bool disturbs_terminal(char32_t character);

// True when `text` is well-formed UTF-8 (no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

// What `text`, which is not empty, begins with: a character of UTF-8, or else the longest run of
// bytes that one could have begun with.
struct Utf8Front {
  std::size_t length = 1;
  bool is_character = false;
  char32_t code_point = 0;  // of the character
};
Utf8Front utf8_front(std::string_view text);

// Shell-style match with * (any run) and ? (any one character), the whole of `text`.
bool matches_wildcard(std::string_view pattern, std::string_view text);

}  // namespace nf4bench
