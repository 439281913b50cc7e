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
  while (!text.empty()) {
    const Utf8Front front = utf8_front(text);
    require(front.is_character, "what users see is UTF-8");
    require(!disturbs_terminal(front.code_point) || text[0] == '\n',
            "what users see has nothing that a terminal would act on");
    text.remove_prefix(front.length);
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
