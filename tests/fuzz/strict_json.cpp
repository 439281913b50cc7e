#include "fuzz/strict_json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

namespace nf4bench::fuzz {
namespace {

bool is_digit(int c) {
  return c >= '0' && c <= '9';
}

class Parser {
 public:
  Parser(std::string_view text, int max_depth) : text_(text), max_depth_(max_depth) {}

  std::optional<JsonValue> document() {
    JsonValue value;
    if (!parse_value(value, 0)) return std::nullopt;
    skip_blanks();
    if (at_ != text_.size()) return std::nullopt;
    return value;
  }

 private:
  // The byte at the cursor; -1 at the end.
  int peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : -1; }

  bool take(char c) {
    if (peek() != static_cast<unsigned char>(c)) return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }

  bool parse_value(JsonValue& value, int depth) {
    skip_blanks();
    switch (peek()) {
      case '{':
        return depth < max_depth_ && parse_object(value, depth + 1);
      case '[':
        return depth < max_depth_ && parse_array(value, depth + 1);
      case '"':
        value.kind = JsonValue::Kind::kString;
        return parse_string(value.text);
      case 'n':
        return take_word("null");
      case 't':
        value.kind = JsonValue::Kind::kBoolean;
        return take_word("true");
      case 'f':
        value.kind = JsonValue::Kind::kBoolean;
        return take_word("false");
      default:
        return parse_number(value);
    }
  }

  bool parse_object(JsonValue& value, int depth) {
    value.kind = JsonValue::Kind::kObject;
    std::set<std::string> seen;
    ++at_;
    skip_blanks();
    if (take('}')) return true;
    do {
      skip_blanks();
      std::string name;
      if (peek() != '"' || !parse_string(name)) return false;
      if (!seen.insert(name).second) return false;
      skip_blanks();
      if (!take(':')) return false;
      value.names.push_back(std::move(name));
      value.items.emplace_back();
      if (!parse_value(value.items.back(), depth)) return false;
      skip_blanks();
    } while (take(','));
    return take('}');
  }

  bool parse_array(JsonValue& value, int depth) {
    value.kind = JsonValue::Kind::kArray;
    ++at_;
    skip_blanks();
    if (take(']')) return true;
    do {
      value.items.emplace_back();
      if (!parse_value(value.items.back(), depth)) return false;
      skip_blanks();
    } while (take(','));
    return take(']');
  }

  bool parse_number(JsonValue& value) {
    const std::size_t begin = at_;
    const bool is_negative = take('-');
    if (!is_digit(peek())) return false;
    if (!take('0')) {
      while (is_digit(peek())) ++at_;
    }
    bool is_integer = true;
    if (take('.')) {
      is_integer = false;
      if (!skip_digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      is_integer = false;
      ++at_;
      if (!take('-')) take('+');
      if (!skip_digits()) return false;
    }
    const std::string digits(text_.substr(begin, at_ - begin));
    value.kind = JsonValue::Kind::kNumber;
    value.number = std::strtod(digits.c_str(), nullptr);
    if (!is_integer || is_negative) return std::isfinite(value.number);
    const char* end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, value.unsigned_value);
    if (parsed.ec == std::errc() && parsed.ptr == end) value.kind = JsonValue::Kind::kUnsigned;
    return std::isfinite(value.number);
  }

  bool skip_digits() {
    if (!is_digit(peek())) return false;
    while (is_digit(peek())) ++at_;
    return true;
  }

  bool parse_string(std::string& out) {
    ++at_;
    while (!take('"')) {
      const int c = peek();
      if (c < 0x20) return false;  // the end of the text, too
      if (c == '\\') {
        if (!parse_escape(out)) return false;
      } else if (c < 0x80) {
        out += static_cast<char>(c);
        ++at_;
      } else if (!copy_multibyte(out)) {
        return false;
      }
    }
    return true;
  }

  bool parse_escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    ++at_;
    const int letter = peek();
    if (letter < 0) return false;
    ++at_;
    if (letter != 'u') {
      const std::size_t found = kLetters.find(static_cast<char>(letter));
      if (found == std::string_view::npos) return false;
      out += kMeanings[found];
      return true;
    }
    std::uint32_t point = 0;
    if (!parse_hex(point)) return false;
    if (point >= 0xdc00 && point <= 0xdfff) return false;
    if (point >= 0xd800 && point <= 0xdbff) {
      std::uint32_t low = 0;
      if (!take('\\') || !take('u') || !parse_hex(low)) return false;
      if (low < 0xdc00 || low > 0xdfff) return false;
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(point, out);
    return true;
  }

  bool parse_hex(std::uint32_t& point) {
    if (text_.size() - at_ < 4) return false;
    const char* begin = text_.data() + at_;
    const auto parsed = std::from_chars(begin, begin + 4, point, 16);
    at_ += 4;
    return parsed.ec == std::errc() && parsed.ptr == begin + 4;
  }

  static void append_utf8(std::uint32_t point, std::string& out) {
    if (point < 0x80) {
      out += static_cast<char>(point);
      return;
    }
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    const std::uint32_t mark = more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0;
    out += static_cast<char>(mark | (point >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) {
      out += static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3f));
    }
  }

  // Decodes by arithmetic and asks whether encoding gives the same bytes: no overlong form does.
  bool copy_multibyte(std::string& out) {
    const auto lead = static_cast<std::uint32_t>(peek());
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (text_.size() - at_ < length) return false;
    std::uint32_t point = lead & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      point = (point << 6) | (static_cast<unsigned char>(text_[at_ + i]) & 0x3fu);
    }
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return false;
    std::string again;
    append_utf8(point, again);
    if (again != text_.substr(at_, length)) return false;
    out += again;
    at_ += length;
    return true;
  }

  std::string_view text_;
  int max_depth_;
  std::size_t at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr : &items[static_cast<std::size_t>(found - names.begin())];
}

std::optional<JsonValue> parse_strict_json(std::string_view text, int max_depth) {
  return Parser(text, max_depth).document();
}

}  // namespace nf4bench::fuzz
