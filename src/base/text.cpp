#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace nf4bench {
namespace {

// Length that the lead byte announces; 0 for a byte that cannot lead.
std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

// The character that `text`, which is not empty, starts with; a byte that starts none counts alone.
Utf8Front decode_front(std::string_view text) {
  const Utf8Front front = utf8_front(text);
  return front.is_character ? front : Utf8Front();
}

// How a character is shown on one line.
std::string shown(const Utf8Front& character, std::string_view bytes) {
  const char32_t c = character.code_point;
  if (!character.is_character) {
    return fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[0]));
  }
  if (c == U'\n') return "\\n";
  if (c == U'\r') return "\\r";
  if (c == U'\t') return "\\t";
  if (c == 0) return "\\u0000";
  if (!disturbs_terminal(c)) return std::string(bytes.substr(0, character.length));
  const auto number = static_cast<std::uint32_t>(c);
  return c < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

bool is_quote(char byte) {
  return byte == '"' || byte == '\\';
}

// True for ASCII that is shown as it is, between quotes too.
bool is_plain(char byte) {
  return byte >= 0x20 && byte < 0x7f && !is_quote(byte);
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
    const Utf8Front character = decode_front(text);
    std::string piece = shown(character, text);
    const bool is_literal = character.code_point >= 0x80 && piece[0] != '\\';
    if (is_quote(text[0])) piece.insert(0, 1, '\\');
    chars += is_literal ? 1 : piece.size();
    if (chars > max_chars) return result + "...";
    result += piece;
    text.remove_prefix(character.length);
  }
  return result;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto is_ascii = [](char byte) { return byte >= 0x20 && byte < 0x7f; };
    const auto special = std::ranges::find_if_not(text, is_ascii);
    result.append(text.begin(), special);
    text.remove_prefix(static_cast<std::size_t>(special - text.begin()));
    if (text.empty()) break;
    const Utf8Front character = decode_front(text);
    result += shown(character, text);
    text.remove_prefix(character.length);
  }
  return result;
}

bool disturbs_terminal(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
         (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
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
  char32_t code_point = length == 1 ? lead : lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const bool is_there = i < text.size();
    const auto byte = static_cast<unsigned char>(is_there ? text[i] : 0);
    if (byte < low || byte > high) return {.length = i};
    code_point = (code_point << 6) | (byte & 0x3fu);
    low = 0x80;
    high = 0xbf;
  }
  return {.length = length, .is_character = true, .code_point = code_point};
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
