#include "text/markdown.hpp"

#include "base/text.hpp"

namespace nf4bench::text {

std::string in_markdown(std::string_view text, std::size_t max_chars) {
  constexpr std::string_view kMarks = "\\`*_{}[]<>#|~&@";
  std::string safe;
  for (const char c : escaped(text, max_chars)) {
    if (kMarks.find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

}  // namespace nf4bench::text
