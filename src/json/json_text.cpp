#include "json/json_text.hpp"

#include <nlohmann/json.hpp>

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

// Moves every line of `text` but the first two columns to the right. Strings hold no raw newline.
void append_indented(std::string& out, const std::string& text) {
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    out.append(text, start, end + 1 - start).append("  ");
    start = end + 1;
  }
  out.append(text, start);
}

std::string container(char open, char close, const std::vector<std::string>& items) {
  std::size_t length = 2;
  bool is_short = true;
  for (const std::string& item : items) {
    length += item.size() + 2;
    is_short = is_short && length <= kLineLimit && item.find('\n') == std::string::npos;
  }
  const char* separator = is_short ? "" : "\n  ";
  std::string out(1, open);
  for (const std::string& item : items) {
    out += separator;
    append_indented(out, item);
    separator = is_short ? ", " : ",\n  ";
  }
  if (!is_short) out += '\n';
  return out + close;
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

JsonText json_string(std::string_view value) {
  return {nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

JsonText json_string_or_null(std::string_view value) {
  return value.empty() ? json_null() : json_string(value);
}

JsonText json_object(const std::vector<JsonMember>& members) {
  std::vector<std::string> items;
  items.reserve(members.size());
  for (const JsonMember& member : members) {
    items.push_back('"' + std::string(member.name) + "\": " + member.value.text);
  }
  return {container('{', '}', items)};
}

JsonText json_array(const std::vector<JsonText>& items) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const JsonText& item : items) texts.push_back(item.text);
  return {container('[', ']', texts)};
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
