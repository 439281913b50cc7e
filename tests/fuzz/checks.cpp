#include "fuzz/checks.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <cstdio>
#include <cstdlib>

namespace nf4bench::fuzz {

void require(bool holds, std::string_view claim) {
  if (holds) return;
  std::fprintf(stderr, "claim failed: %.*s\n", static_cast<int>(claim.size()), claim.data());
  std::abort();
}

void require_printable(std::string_view text) {
  // A message holds a path, a name and a found value, of 200 escaped characters each at most.
  constexpr std::size_t kMaxBytes = 8000;
  require(text.size() <= kMaxBytes, "a message is short");
  require(text.find('\n') == std::string_view::npos, "a message is one line");
  require_printable_lines(text);
}

void require_printable_lines(std::string_view text) {
  require(is_utf8(text), "what users see is UTF-8");
  for (const char c : text) {
    require((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) || c == '\n',
            "what users see has no control characters");
  }
}

bool accepts(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kInput, "a refusal is an error of bad input");
    require_printable(error.what());
    return false;
  }
  return true;
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace nf4bench::fuzz
