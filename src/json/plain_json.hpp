#pragma once

#include "json/json_events.hpp"

#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <vector>

namespace nf4bench::json {

// Reads JSON as programs write it, several times as fast as read_json(): texts of ASCII without
// escapes, and numbers within double. Of a document that has anything else, or is no JSON, it knows
// nothing but that; what it accepts, read_json() accepts with the same events.
template <typename Sink>
class PlainJson {
 public:
  PlainJson(std::string_view text, int max_depth, Sink& sink)
      : at_(text.data()),
        end_(text.data() + text.size()),
        max_depth_(static_cast<std::size_t>(max_depth)),
        sink_(sink) {}

  // False where it gave up; the sink has got a part of the document then.
  bool read() {
    skip_blanks();
    if (!read_value()) return false;
    while (!open_.empty()) {
      skip_blanks();
      if (!(open_.back() == '{' ? read_in_object() : read_in_array())) return false;
    }
    skip_blanks();
    return at_ == end_;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  char peek() const { return at_ == end_ ? '\0' : *at_; }

  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  // The comma before all but the first member of the innermost container, and blanks around it.
  bool take_comma() {
    if (!is_first_ && !take(',')) return false;
    is_first_ = false;
    skip_blanks();
    return true;
  }

  bool read_in_array() {
    if (take(']')) return leave(JsonKind::kEndArray);
    return take_comma() && read_value();
  }

  bool read_in_object() {
    if (take('}')) return !keys_.close_object() && leave(JsonKind::kEndObject);
    std::string_view key;
    if (!take_comma() || !read_text(key)) return false;
    keys_.add(key);
    sink_({.kind = JsonKind::kKey, .text = key});
    skip_blanks();
    if (!take(':')) return false;
    skip_blanks();
    return read_value();
  }

  bool enter(JsonKind kind) {
    if (open_.size() >= max_depth_) return false;
    open_.push_back(*at_++);
    is_first_ = true;
    sink_({.kind = kind});
    return true;
  }

  bool leave(JsonKind kind) {
    open_.pop_back();
    is_first_ = false;  // what was left was a member of what is around it
    sink_({.kind = kind});
    return true;
  }

  bool read_value() {
    switch (peek()) {
      case '{':
        keys_.open_object();
        return enter(JsonKind::kBeginObject);
      case '[':
        return enter(JsonKind::kBeginArray);
      case '"': {
        std::string_view text;
        if (!read_text(text)) return false;
        sink_({.kind = JsonKind::kString, .text = text});
        return true;
      }
      case 't':
        return read_word("true", {.kind = JsonKind::kBoolean, .truth = true});
      case 'f':
        return read_word("false", {.kind = JsonKind::kBoolean});
      case 'n':
        return read_word("null", {.kind = JsonKind::kNull});
      default:
        return read_number();
    }
  }

  bool read_word(std::string_view word, const JsonEvent& event) {
    if (!std::string_view(at_, end_).starts_with(word)) return false;
    at_ += word.size();
    sink_(event);
    return true;
  }

  bool read_text(std::string_view& text) {
    if (!take('"')) return false;
    const char* const begin = at_;
    while (at_ != end_ && *at_ >= ' ' && *at_ <= '~' && *at_ != '"' && *at_ != '\\') ++at_;
    text = {begin, at_};
    return take('"');
  }

  bool skip_digits() {
    const char* const begin = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ != begin;
  }

  bool read_number() {
    const char* const begin = at_;
    const bool is_negative = take('-');
    if (!take('0') && !skip_digits()) return false;
    bool is_whole = true;
    if (take('.')) {
      is_whole = false;
      if (!skip_digits()) return false;
    }
    if (take('e') || take('E')) {
      is_whole = false;
      if (!take('+')) take('-');
      if (!skip_digits()) return false;
    }
    if (is_whole && (is_negative ? pass_negative(begin) : pass_unsigned(begin))) return true;
    JsonEvent event = {.kind = JsonKind::kFloat, .text = {begin, at_}};
    if (std::from_chars(begin, at_, event.number).ec != std::errc()) return false;
    sink_(event);
    return true;
  }

  // False for an integer that takes more than 64 bits.
  bool pass_unsigned(const char* begin) {
    JsonEvent event = {.kind = JsonKind::kUnsigned};
    if (std::from_chars(begin, at_, event.unsigned_value).ec != std::errc()) return false;
    event.number = static_cast<double>(event.unsigned_value);
    sink_(event);
    return true;
  }

  bool pass_negative(const char* begin) {
    JsonEvent event = {.kind = JsonKind::kNegative};
    if (std::from_chars(begin, at_, event.signed_value).ec != std::errc()) return false;
    event.number = event.signed_value == 0 ? -0.0 : static_cast<double>(event.signed_value);
    sink_(event);
    return true;
  }

  const char* at_;
  const char* end_;
  std::size_t max_depth_;
  Sink& sink_;
  std::vector<char> open_;  // the brackets that are not closed
  bool is_first_ = true;    // no member of the innermost container was read
  KeyLedger keys_;
};

}  // namespace nf4bench::json
