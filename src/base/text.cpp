#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace nf4bench {
namespace {

// One step through a byte string that may or may not be UTF-8.
struct Decoded {
  char32_t code_point = 0;
  std::size_t length = 1;
  bool is_valid = false;
};

// Length that the lead byte announces; 0 for a byte that cannot lead.
std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

// Decodes the character that `text` starts with; `text` is not empty.
Decoded decode_front(std::string_view text) {
  const auto [length, is_character] = utf8_front(text);
  if (!is_character) return {};
  const auto lead = static_cast<unsigned char>(text[0]);
  if (length == 1) return {lead, 1, true};
  char32_t code_point = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    code_point = (code_point << 6) | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  return {code_point, length, true};
}

// Characters beyond ASCII that move the cursor, break the line or reorder the text around them.
bool is_unprintable(char32_t c) {
  return (c >= 0x80 && c <= 0x9f) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
         (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

// How one decoded character is shown.
std::string shown(const Decoded& character, std::string_view bytes) {
  const char32_t c = character.code_point;
  if (!character.is_valid) return fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[0]));
  if (c == U'\n') return "\\n";
  if (c == U'\r') return "\\r";
  if (c == U'\t') return "\\t";
  if (c == U'"' || c == U'\\') return fmt::format("\\{}", static_cast<char>(c));
  if (c == 0) return "\\u0000";
  if (c < 0x20 || c == 0x7f) return fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c));
  if (is_unprintable(c)) return fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c));
  return std::string(bytes.substr(0, character.length));
}

// True for ASCII that is shown as it is.
bool is_plain(char byte) {
  return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

// Bytes of the character at the front, an invalid byte counting as one.
std::size_t front_length(std::string_view text) {
  return decode_front(text).length;
}

}  // namespace

std::string escaped(std::string_view text, std::size_t max_chars) {
  // Nearly all names are plain, and a model has a hundred thousand of them.
  const char* const special = std::find_if_not(text.data(), text.data() + text.size(), is_plain);
  const auto plain =
      std::min<std::size_t>(static_cast<std::size_t>(special - text.data()), max_chars);
  std::string result(text.substr(0, plain));
  text.remove_prefix(plain);
  std::size_t chars = plain;
  while (!text.empty()) {
    const Decoded character = decode_front(text);
    const std::string piece = shown(character, text);
    const bool is_literal = character.is_valid && character.code_point >= 0x80 && piece[0] != '\\';
    chars += is_literal ? 1 : piece.size();
    if (chars > max_chars) return result + "...";
    result += piece;
    text.remove_prefix(character.length);
  }
  return result;
}

bool begins_printable(std::string_view text) {
  const Decoded front = decode_front(text);
  const char32_t c = front.code_point;
  return front.is_valid && c >= 0x20 && c != 0x7f && !is_unprintable(c);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Front front = utf8_front(text);
    if (!front.is_character) return false;
    text.remove_prefix(front.length);
  }
  return true;
}

Utf8Front utf8_front(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = sequence_length(lead);
  if (length == 0) return {};
  // The second byte rules out overlong forms, surrogates and what is past U+10FFFF.
  unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t i = 1; i < length; ++i) {
    const bool is_there = i < text.size();
    const auto byte = static_cast<unsigned char>(is_there ? text[i] : 0);
    if (byte < low || byte > high) return {i, false};
    low = 0x80;
    high = 0xbf;
  }
  return {length, true};
}

bool matches_wildcard(std::string_view pattern, std::string_view text) {
  // Where to go on after a mismatch: behind the last star, one character further into the text.
  std::string_view retry_pattern;
  std::string_view retry_text;
  bool has_star = false;
  while (!text.empty()) {
    if (!pattern.empty() && pattern[0] == '*') {
      pattern.remove_prefix(1);
      retry_pattern = pattern;
      retry_text = text;
      has_star = true;
    } else if (!pattern.empty() && pattern[0] == '?') {
      pattern.remove_prefix(1);
      text.remove_prefix(front_length(text));
    } else if (!pattern.empty() && pattern[0] == text[0]) {
      pattern.remove_prefix(1);
      text.remove_prefix(1);
    } else if (has_star) {
      retry_text.remove_prefix(front_length(retry_text));
      pattern = retry_pattern;
      text = retry_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*') == std::string_view::npos;
}

}  // namespace nf4bench
