#pragma once

#include <string>
#include <string_view>

namespace nf4bench {

// `text` fit for a terminal: control characters, quotes, backslashes and bytes that are not valid
// UTF-8 are escaped (\n, \x1b, \u0000); a text of more than `max_chars` characters is cut and ends
// in "...".
std::string escaped(std::string_view text, std::size_t max_chars = 200);

// True when the character of UTF-8 that `text` begins with stands where it was put: it is no
// control character, breaks no line and reorders nothing around it.
bool begins_printable(std::string_view text);

// True when `text` is well-formed UTF-8 (no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

// What `text`, which is not empty, begins with: a character of UTF-8, or else the longest run of
// bytes that one could have begun with.
struct Utf8Front {
  std::size_t length = 1;
  bool is_character = false;
};
Utf8Front utf8_front(std::string_view text);

// Shell-style match with * (any run) and ? (any one character), the whole of `text`.
bool matches_wildcard(std::string_view pattern, std::string_view text);

}  // namespace nf4bench
