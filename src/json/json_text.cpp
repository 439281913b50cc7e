#include "json/json_text.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace nf4bench::json {
namespace {

constexpr std::size_t kLineLimit = 92;  // of a container on one line, so that most lines stay < 100

using DigitBuffer = std::array<char, 32>;  // the longest double has 24 characters

template <typename Integer>
std::string decimal(Integer value) {
  DigitBuffer buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

// Whole numbers without an exponent (1980000000, not 1.98e+09) as long as they are exact.
std::string decimal(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const bool is_whole = std::abs(value) < kExact && std::trunc(value) == value;
  const auto format = is_whole ? std::chars_format::fixed : std::chars_format::general;
  DigitBuffer buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
  return {buffer.data(), end};
}

// True for the ASCII that stands in a string here as it is.
bool is_plain(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

// A character in numbers, as UTF-16 has it.
std::string in_numbers(char32_t character) {
  const auto code = static_cast<std::uint32_t>(character);
  if (code < 0x10000) return fmt::format("\\u{:04x}", code);
  const std::uint32_t above = code - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
}

std::string escape(char32_t character) {
  switch (character) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return in_numbers(character);
  }
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Utf8Front front = utf8_front(text);
    if (!front.is_character) {
      out += "\xef\xbf\xbd";
    } else if (front.length == 1 || disturbs_terminal(front.code_point)) {
      out += escape(front.code_point);
    } else {
      out += text.substr(0, front.length);
    }
    text.remove_prefix(front.length);
  }
  return out + '"';
}

// An element of an array, or a member of an object with its name before it.
struct Piece {
  std::string name;  // quoted, with its colon; empty in an array
  std::string_view value;
};

// Whether `pieces` fit one line, brackets and separators counted.
bool is_short(const std::vector<Piece>& pieces) {
  std::size_t length = 2;
  for (const Piece& piece : pieces) {
    length += piece.name.size() + piece.value.size() + 2;
    if (length > kLineLimit || piece.value.find('\n') != std::string_view::npos) return false;
  }
  return true;
}

// Moves every line of `text` but the first two columns to the right. Strings hold no raw newline.
void append_indented(std::string& out, std::string_view text) {
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos;
       end = text.find('\n', start)) {
    out.append(text.substr(start, end + 1 - start)).append("  ");
    start = end + 1;
  }
  out.append(text.substr(start));
}

// Bytes that a container of `pieces` takes at most.
std::size_t length_of(const std::vector<Piece>& pieces, bool breaks) {
  constexpr std::size_t kSeparator = 4;  // ",\n  "
  constexpr std::size_t kIndent = 2;     // of each further line
  std::size_t length = kSeparator;
  for (const Piece& piece : pieces) {
    length += piece.name.size() + piece.value.size() + kSeparator;
    if (!breaks) continue;
    const auto lines = std::ranges::count(piece.value, '\n');
    length += kIndent * static_cast<std::size_t>(lines);
  }
  return length;
}

std::string container(std::string_view brackets, const std::vector<Piece>& pieces,
                      JsonLayout layout) {
  const bool breaks = (layout == JsonLayout::kExpanded && !pieces.empty()) ||
                      (layout == JsonLayout::kFitted && !is_short(pieces));
  const char* next = breaks ? ",\n  " : layout == JsonLayout::kCompact ? "," : ", ";
  const char* separator = breaks ? "\n  " : "";
  std::string out;
  out.reserve(length_of(pieces, breaks));  // a model's list of tensors is large
  out += brackets.front();
  for (const Piece& piece : pieces) {
    out.append(separator).append(piece.name);
    if (breaks) {
      append_indented(out, piece.value);
    } else {
      out.append(piece.value);
    }
    separator = next;
  }
  if (breaks) out += '\n';
  out += brackets.back();
  return out;
}

template <typename Number>
std::string number_line(std::span<const Number> values) {
  std::string out = "[";
  const char* separator = "";
  for (const Number value : values) {
    out += separator;
    out += decimal(value);
    separator = ", ";
  }
  return out + "]";
}

JsonText object_of(std::span<const JsonMember> members, JsonLayout layout) {
  const char* colon = layout == JsonLayout::kCompact ? ":" : ": ";
  std::vector<Piece> pieces;
  pieces.reserve(members.size());
  for (const JsonMember& member : members) {
    pieces.push_back({quoted(member.name) + colon, member.value.text});
  }
  return {container("{}", pieces, layout)};
}

}  // namespace

JsonText json_null() {
  return {"null"};
}

JsonText json_bool(bool value) {
  return {value ? "true" : "false"};
}

JsonText json_integer(std::int64_t value) {
  return {decimal(value)};
}

JsonText json_unsigned(std::uint64_t value) {
  return {decimal(value)};
}

JsonText json_number(double value) {
  return std::isfinite(value) ? JsonText{decimal(value)} : json_null();
}

JsonText json_float(double value) {
  if (!std::isfinite(value)) return json_null();
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return {text};
}

JsonText json_string(std::string_view value) {
  return {quoted(value)};
}

JsonText json_string_or_null(std::string_view value) {
  return value.empty() ? json_null() : json_string(value);
}

JsonText json_object(std::initializer_list<JsonMember> members, JsonLayout layout) {
  return object_of(members, layout);
}

JsonText json_object(const std::vector<JsonMember>& members, JsonLayout layout) {
  return object_of(members, layout);
}

JsonText json_array(const std::vector<JsonText>& items, JsonLayout layout) {
  std::vector<Piece> pieces;
  pieces.reserve(items.size());
  for (const JsonText& item : items) pieces.push_back({"", item.text});
  return {container("[]", pieces, layout)};
}

JsonText json_strings(const std::vector<std::string>& values, JsonLayout layout) {
  return json_array_of(values, json_string, layout);
}

JsonText json_numbers(std::span<const double> values) {
  for (const double value : values) {
    if (!std::isfinite(value)) return json_null();
  }
  return {number_line(values)};
}

JsonText json_integers(std::span<const std::int64_t> values) {
  return {number_line(values)};
}

}  // namespace nf4bench::json
