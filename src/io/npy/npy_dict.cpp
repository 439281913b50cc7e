#include "io/npy/npy_dict.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/stored_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace nf4bench::io {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class DictParser {
 public:
  DictParser(std::string_view where, std::string_view text, LongSuffix suffix)
      : where_(where), text_(text), suffix_(suffix) {}

  NpyDict parse() {
    expect('{', "a dict that starts with {");
    while (!accept('}')) {
      parse_item();
      if (!accept(',') && peek() != '}') throw wrong("header", "a comma or }");
    }
    skip_blanks();
    if (position_ != text_.size()) throw wrong("header", "nothing after the dict");
    if (!descr_) throw input_error(where_, "the key 'descr' is missing");
    if (!is_fortran_order_) throw input_error(where_, "the key 'fortran_order' is missing");
    if (!shape_) throw input_error(where_, "the key 'shape' is missing");
    return {*descr_, *is_fortran_order_, *shape_};
  }

 private:
  void parse_item() {
    const std::string key = parse_string("header", "a quoted key");
    expect(':', "a colon after the key");
    if (key == "descr") {
      refuse_second(descr_, key);
      descr_ = parse_string("descr",
                            "a type in quotes such as '|u1' or '<f4' (structured types "
                            "are not read)");
    } else if (key == "fortran_order") {
      refuse_second(is_fortran_order_, key);
      is_fortran_order_ = parse_boolean();
    } else if (key == "shape") {
      refuse_second(shape_, key);
      shape_ = parse_shape();
    } else {
      throw input_error(where_, "header key", in_quotes(key),
                        "descr, fortran_order and shape only");
    }
  }

  template <typename Value>
  void refuse_second(const std::optional<Value>& first, const std::string& key) const {
    if (first) throw input_error(where_, fmt::format("the key '{}' occurs twice", key));
  }

  std::string parse_string(std::string_view field, std::string_view wanted) {
    skip_blanks();
    const char quote = peek();
    if (quote != '\'' && quote != '"') throw wrong(field, wanted);
    const std::size_t begin = position_ + 1;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) throw wrong(field, "a closing quote");
    const std::string_view value = text_.substr(begin, end - begin);
    if (value.find_first_of("\\\n\r") != std::string_view::npos) {
      throw wrong(field, "a string without escapes");
    }
    position_ = end + 1;
    return std::string(value);
  }

  bool parse_boolean() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_).starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    throw wrong("fortran_order", "True or False");
  }

  std::vector<std::uint64_t> parse_shape() {
    constexpr const char* kWanted = "a tuple of decimal integers such as (3,) or (2, 3)";
    skip_blanks();
    if (peek() != '(') throw wrong("shape", kWanted);
    ++position_;
    std::vector<std::uint64_t> shape;
    bool ended_in_comma = true;
    while (!accept(')')) {
      if (!ended_in_comma) throw wrong("shape", "a comma or )");
      if (shape.size() == kMaxStoredRank) {
        throw wrong("shape", fmt::format("at most {} dimensions", kMaxStoredRank));
      }
      shape.push_back(parse_integer());
      ended_in_comma = accept(',');
    }
    // (4) is a number in parentheses; only (4,) is a tuple.
    if (shape.size() == 1 && !ended_in_comma) throw wrong("shape", "a tuple: (4,), not (4)");
    return shape;
  }

  std::uint64_t parse_integer() {
    constexpr const char* kWanted = "a decimal integer from 0 to 18446744073709551615";
    skip_blanks();
    const std::size_t begin = position_;
    std::optional<std::uint64_t> value = 0;
    while (is_digit(peek()) && value) {
      value = checked_multiply(*value, 10);
      if (value) value = checked_add(*value, static_cast<std::uint64_t>(peek() - '0'));
      ++position_;
    }
    const std::size_t digits = position_ - begin;
    if (!value || digits == 0 || (digits > 1 && text_[begin] == '0')) {
      position_ = begin;
      throw wrong("shape", kWanted);
    }
    if (suffix_ == LongSuffix::kAllowed && peek() == 'L') ++position_;
    return *value;
  }

  void skip_blanks() {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", position_);
    position_ = std::min(next, text_.size());
  }

  // The next character; at the end NUL, which no rule accepts.
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  bool accept(char c) {
    skip_blanks();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void expect(char c, std::string_view wanted) {
    if (!accept(c)) throw wrong("header", wanted);
  }

  Error wrong(std::string_view field, std::string_view wanted) const {
    const std::string_view rest = text_.substr(position_, 40);
    return input_error(where_, field, rest.empty() ? "the end of the header" : in_quotes(rest),
                       wanted);
  }

  std::string_view where_;
  std::string_view text_;
  LongSuffix suffix_;
  std::size_t position_ = 0;
  std::optional<std::string> descr_;
  std::optional<bool> is_fortran_order_;
  std::optional<std::vector<std::uint64_t>> shape_;
};

}  // namespace

NpyDict parse_npy_dict(std::string_view where, std::string_view text, LongSuffix suffix) {
  return DictParser(where, text, suffix).parse();
}

}  // namespace nf4bench::io
