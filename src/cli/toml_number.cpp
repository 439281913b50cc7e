#include "cli/toml_number.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace nf4bench {
namespace {

bool is_digit_of(char c, int base) {
  if (c >= '0' && c <= '9') return c - '0' < base;
  const char lower = static_cast<char>(c | 0x20);
  return base == 16 && lower >= 'a' && lower <= 'f';
}

// `word` without the underscores that stand between two digits; none when one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view word, int base) {
  std::string digits;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '_') {
      digits += word[i];
      continue;
    }
    const bool is_between = i > 0 && i + 1 < word.size() && is_digit_of(word[i - 1], base) &&
                            is_digit_of(word[i + 1], base);
    if (!is_between) return std::nullopt;
  }
  return digits;
}

std::optional<TomlValue> integer(std::string_view digits, int base) {
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc() || last != end) return std::nullopt;
  return TomlValue{TomlValue::Kind::kInteger, std::to_string(value), {}};
}

int prefixed_base(std::string_view word) {
  if (word.starts_with("0x")) return 16;
  if (word.starts_with("0o")) return 8;
  if (word.starts_with("0b")) return 2;
  return 10;
}

std::size_t count_digits(std::string_view text) {
  const auto end =
      std::find_if(text.begin(), text.end(), [](char c) { return !is_digit_of(c, 10); });
  return static_cast<std::size_t>(end - text.begin());
}

// Whether `text` (no sign, no underscores) is digits, then a fraction or an exponent or both.
bool is_float(std::string_view text) {
  const std::size_t whole = count_digits(text);
  if (whole == 0 || (whole > 1 && text.front() == '0')) return false;
  text.remove_prefix(whole);
  if (text.starts_with('.')) {
    const std::size_t fraction = count_digits(text.substr(1));
    if (fraction == 0) return false;
    text.remove_prefix(1 + fraction);
    if (text.empty()) return true;
  }
  if (text.empty() || (text.front() | 0x20) != 'e') return false;
  text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && count_digits(text) == text.size();
}

}  // namespace

std::optional<TomlValue> toml_number(const std::string& word) {
  const int base = prefixed_base(word);
  if (base != 10) {
    const auto digits = without_underscores(std::string_view(word).substr(2), base);
    if (!digits || digits->starts_with('-')) return std::nullopt;
    return integer(*digits, base);
  }
  const auto plain = without_underscores(word, 10);
  if (!plain || plain->empty()) return std::nullopt;
  const bool has_sign = plain->front() == '+' || plain->front() == '-';
  const std::string unsigned_part = plain->substr(has_sign ? 1 : 0);
  const std::string text = (plain->front() == '-' ? "-" : "") + unsigned_part;
  if (unsigned_part == "inf" || unsigned_part == "nan" || is_float(unsigned_part)) {
    return TomlValue{TomlValue::Kind::kFloat, text, {}};
  }
  const bool leads_with_zero = unsigned_part.size() > 1 && unsigned_part.front() == '0';
  if (leads_with_zero || count_digits(unsigned_part) != unsigned_part.size()) return std::nullopt;
  return integer(text, 10);
}

}  // namespace nf4bench
