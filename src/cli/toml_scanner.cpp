#include "cli/toml_scanner.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/toml_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace nf4bench {
namespace {

constexpr std::string_view kMultilineBasic = R"(""")";
constexpr std::string_view kMultilineLiteral = "'''";

bool is_bare_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto byte = [&](std::uint32_t bits) { text += static_cast<char>(bits); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6);
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

}  // namespace

void TomlScanner::fail(const std::string& problem) const {
  throw Error(ErrorKind::kUsage, fmt::format("{}:{}: {}", escaped(name_), line_, problem));
}

bool TomlScanner::take(std::string_view word) {
  if (!sees(word)) return false;
  at_ += word.size();
  return true;
}

void TomlScanner::expect(std::string_view word, const char* where) {
  if (take(word)) return;
  const bool ends = is_at_end() || is_at_newline();
  fail(fmt::format("found {}, wanted {} {}",
                   ends ? "the end of the line" : '"' + escaped(text_.substr(at_, 1)) + '"', word,
                   where));
}

void TomlScanner::skip_blanks() {
  while (sees(" ") || sees("\t")) ++at_;
}

void TomlScanner::take_newline() {
  if (take("\n") || take("\r\n")) ++line_;
}

void TomlScanner::skip_comment() {
  if (!take("#")) return;
  while (!is_at_end() && !is_at_newline()) plain_char(false);
}

void TomlScanner::skip_blank_lines() {
  while (true) {
    skip_blanks();
    skip_comment();
    if (!is_at_newline()) return;
    take_newline();
  }
}

void TomlScanner::end_line(const char* after) {
  skip_blanks();
  skip_comment();
  if (is_at_end()) return;
  if (!is_at_newline()) {
    fail(fmt::format("found \"{}\" after {}, wanted the end of the line",
                     escaped(text_.substr(at_, 1)), after));
  }
  take_newline();
}

std::vector<std::string> TomlScanner::key() {
  std::vector<std::string> parts;
  do {
    skip_blanks();
    parts.push_back(key_part());
    skip_blanks();
  } while (take("."));
  return parts;
}

std::string TomlScanner::key_part() {
  if (sees(kMultilineBasic) || sees(kMultilineLiteral)) fail("a key can not span lines");
  if (take("\"")) return basic_string();
  if (take("'")) return literal_string();
  const std::size_t start = at_;
  while (!is_at_end() && is_bare_key_char(text_[at_])) ++at_;
  if (at_ == start) {
    fail(is_at_end() || is_at_newline()
             ? "the line ends where a key is wanted"
             : fmt::format("found \"{}\" where a key is wanted; other than letters, digits, - and "
                           "_ must be quoted",
                           escaped(text_.substr(at_, 1))));
  }
  return std::string(text_.substr(start, at_ - start));
}

TomlValue TomlScanner::scalar() {
  TomlValue value;
  if (sees(kMultilineBasic) || sees(kMultilineLiteral)) {
    const std::string_view quotes = text_.substr(at_, 3);
    at_ += 3;
    value.text = multiline_string(quotes);
  } else if (take("\"")) {
    value.text = basic_string();
  } else if (take("'")) {
    value.text = literal_string();
  } else {
    value = word();
  }
  return value;
}

TomlValue TomlScanner::word() {
  const std::size_t start = at_;
  const std::string_view ends = " \t\r\n,]}#";
  at_ = std::min(text_.find_first_of(ends, at_), text_.size());
  const std::string word(text_.substr(start, at_ - start));
  if (word.empty()) fail("a value is missing");
  if (word == "true" || word == "false") return {TomlValue::Kind::kBoolean, word, {}};
  if (const auto number = toml_number(word)) return *number;
  const bool is_like_a_word = is_bare_key_char(word.front()) && (word.front() | 0x20) >= 'a';
  fail(fmt::format("\"{}\" is neither a number nor true or false{}", escaped(word),
                   is_like_a_word ? "; a string is written in quotes" : ""));
}

// The next character, which is none that a string or comment must not hold.
char TomlScanner::plain_char(bool is_multiline) {
  if (is_at_end()) fail("a string is not closed");
  if (is_at_newline()) {
    if (!is_multiline) fail("a string is not closed on its line");
    take_newline();
    return '\n';
  }
  const char c = text_[at_];
  if (is_control(c)) fail(fmt::format("the control character {} is not allowed", escaped({&c, 1})));
  ++at_;
  return c;
}

std::string TomlScanner::basic_string() {
  std::string content;
  while (!take("\"")) {
    if (take("\\")) {
      escape(content);
    } else {
      content += plain_char(false);
    }
  }
  return content;
}

std::string TomlScanner::literal_string() {
  std::string content;
  while (!take("'")) content += plain_char(false);
  return content;
}

std::string TomlScanner::multiline_string(std::string_view quotes) {
  std::string content;
  take_newline();  // one right after the quotes is no content
  while (!take(quotes)) {
    if (quotes == kMultilineBasic && take("\\")) {
      const std::size_t before = at_;
      skip_blanks();
      if (is_at_newline()) {
        join_lines();
        continue;
      }
      at_ = before;
      escape(content);
    } else {
      content += plain_char(true);
    }
  }
  // Of four or five quotes the first belong to the content.
  for (int i = 0; i < 2 && take(quotes.substr(0, 1)); ++i) content += quotes.front();
  return content;
}

void TomlScanner::join_lines() {
  while (is_at_newline()) {
    take_newline();
    skip_blanks();
  }
}

// What follows a backslash.
void TomlScanner::escape(std::string& content) {
  constexpr std::string_view kLetters = "btnfr\"\\";
  constexpr std::string_view kMeanings = "\b\t\n\f\r\"\\";
  const std::size_t letter = is_at_end() ? std::string_view::npos : kLetters.find(text_[at_]);
  if (letter != std::string_view::npos) {
    content += kMeanings[letter];
    ++at_;
    return;
  }
  const std::size_t digits = sees("u") ? 4 : sees("U") ? 8 : 0;
  if (digits == 0) {
    fail(
        fmt::format("\"\\{}\" is no escape; write \\\\ for a backslash, or the string in single "
                    "quotes",
                    is_at_end() ? "" : escaped(text_.substr(at_, 1))));
  }
  const std::string_view hex = text_.substr(at_ + 1, digits);
  const auto is_hex = [](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'f');
  };
  const bool is_complete = hex.size() == digits && std::all_of(hex.begin(), hex.end(), is_hex);
  const auto code = is_complete ? std::stoul(std::string(hex), nullptr, 16) : 0x110000UL;
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    fail(
        fmt::format("\"\\{}\" names no Unicode character", escaped(text_.substr(at_, digits + 1))));
  }
  at_ += digits + 1;
  append_utf8(content, static_cast<std::uint32_t>(code));
}

}  // namespace nf4bench
