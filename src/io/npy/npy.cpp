#include "io/npy/npy.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "io/byte_source.hpp"
#include "io/stored_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench::io {
namespace {

// What the Python dict in a .npy header says.
struct NpyDict {
  std::string descr;
  bool is_fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Whether integers may carry the suffix L, as Python 2 wrote them.
enum class LongSuffix : std::uint8_t { kAllowed, kRefused };

bool is_decimal(char c) {
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
    while (is_decimal(peek()) && value) {
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

// Reads exactly what numpy writes: a dict literal with the keys descr, fortran_order and shape,
// once each, in any order. Evaluates nothing and allows no nesting. Throws Error(kInput) for any
// other text; its message starts with `where`.
NpyDict parse_npy_dict(std::string_view where, std::string_view text, LongSuffix suffix) {
  return DictParser(where, text, suffix).parse();
}

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::uint64_t kVersionEnd = 8;  // magic and two version bytes

constexpr std::array<std::pair<std::string_view, ElementType>, 15> kDescrs = {{
    {"|u1", ElementType::kU8},
    {"|i1", ElementType::kI8},
    {"|b1", ElementType::kBool},
    {"<f2", ElementType::kF16},
    {"<V2", ElementType::kBf16},
    {"|V2", ElementType::kBf16},
    {"<u2", ElementType::kBf16},
    {"<i2", ElementType::kI16},
    {"<f4", ElementType::kF32},
    {"<i4", ElementType::kI32},
    {"<u4", ElementType::kU32},
    {"<f8", ElementType::kF64},
    {"<i8", ElementType::kI64},
    {"<u8", ElementType::kU64},
    {"<c8", ElementType::kC64},
}};

ElementType type_of(const std::string& where, const std::string& descr) {
  for (const auto& [spelling, type] : kDescrs) {
    if (spelling == descr) return type;
  }
  if (descr.find('O') != std::string::npos) {
    throw input_error(where, "descr", in_quotes(descr),
                      "numbers (Python objects would need pickle, which runs code)");
  }
  if (descr.starts_with('>')) {
    throw input_error(where, "descr", in_quotes(descr), "a little-endian type such as '<f4'");
  }
  throw input_error(where, "descr", in_quotes(descr),
                    "'|u1', '<f4', '<f2', '<V2' or another number");
}

// Bytes of an array of `shape`. Empty when a product overflows, even if another dimension is zero,
// because the answer must not depend on the order of the dimensions.
std::optional<std::uint64_t> bytes_of(const std::vector<std::uint64_t>& shape, ElementType type) {
  std::optional<std::uint64_t> bytes = facts(type).bits / 8;
  bool is_empty = false;
  for (const std::uint64_t dimension : shape) {
    is_empty = is_empty || dimension == 0;
    if (bytes) bytes = checked_multiply(*bytes, std::max<std::uint64_t>(dimension, 1));
  }
  return bytes && is_empty ? 0 : bytes;
}

// The dict's text. `start` is the file's beginning with a whole length.
std::string_view dict_text(std::string_view name, std::string_view start,
                           std::uint64_t file_bytes) {
  const std::size_t dict_begin = kVersionEnd + (start[6] == 1 ? 2 : 4);
  const std::uint64_t length = number_at(start, kVersionEnd, dict_begin - kVersionEnd);
  if (length > file_bytes - dict_begin) {
    throw input_error(name, ".npy header length", fmt::format("{} bytes", length),
                      fmt::format("at most the {} that the file has", file_bytes - dict_begin));
  }
  if (length > kMaxNpyHeaderBytes) {
    throw input_error(name, ".npy header length", fmt::format("{} bytes", length),
                      fmt::format("at most {}", kMaxNpyHeaderBytes));
  }
  return start.substr(dict_begin, length);
}

void check_order(const std::string& where, const NpyDict& dict) {
  if (!dict.is_fortran_order) return;
  const auto is_long = [](std::uint64_t dimension) { return dimension > 1; };
  if (std::ranges::count_if(dict.shape, is_long) > 1) {
    throw input_error(where, "fortran_order", "True with shape " + dimensions_to_string(dict.shape),
                      "C order: save numpy.ascontiguousarray(array)");
  }
}

}  // namespace

NpyHeader read_npy_header(const ByteSource& source) {
  const std::string start = source.read_text(0, std::min(source.size(), kMaxNpyStartBytes));
  return parse_npy_header(source.name(), start, source.size());
}

NpyHeader parse_npy_header(std::string_view name, std::string_view start,
                           std::uint64_t file_bytes) {
  if (!start.starts_with(kMagic)) {
    throw input_error(name, "not a .npy file: it does not start with \\x93NUMPY");
  }
  if (start.size() < kVersionEnd) throw input_error(name, "the .npy header is cut short");
  const int major = static_cast<unsigned char>(start[6]);
  const int minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    throw input_error(name, ".npy version", fmt::format("{}.{}", major, minor), "1.0, 2.0 or 3.0");
  }
  if (start.size() < kVersionEnd + (major == 1 ? 2 : 4)) {
    throw input_error(name, "the .npy header is cut short");
  }
  const std::string_view text = dict_text(name, start, file_bytes);
  const std::string where = fmt::format("{}: .npy header", name);
  NpyDict dict =
      parse_npy_dict(where, text, major < 3 ? LongSuffix::kAllowed : LongSuffix::kRefused);
  const ElementType type = type_of(where, dict.descr);
  check_order(where, dict);
  const auto data_begin = static_cast<std::uint64_t>(text.data() + text.size() - start.data());
  const std::uint64_t data_bytes = file_bytes - data_begin;
  const auto wanted = bytes_of(dict.shape, type);
  const std::string shape = dimensions_to_string(dict.shape);
  if (!wanted) throw input_error(where, "shape", shape, "a size that fits 64 bits");
  if (*wanted != data_bytes) {
    throw input_error(name, "data", fmt::format("{} bytes", data_bytes),
                      fmt::format("the {} bytes of {} {}", *wanted, dict.descr, shape));
  }
  return {type, std::move(dict.shape), data_begin, data_bytes};
}

}  // namespace nf4bench::io
