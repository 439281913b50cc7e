#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/toml.hpp"

namespace nf4bench {

// Walks through the text of a TOML document and reads its words: keys, strings, numbers. All
// functions throw Error(kUsage) with file and line.
class TomlScanner {
 public:
  // Both are borrowed.
  TomlScanner(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  bool is_at_end() const { return at_ == text_.size(); }
  int line() const { return line_; }

  // Whether the text goes on with `word`.
  bool sees(std::string_view word) const { return text_.substr(at_).starts_with(word); }

  // Passes over `word` if the text goes on with it.
  bool take(std::string_view word);
  void expect(std::string_view word, const char* where);

  void skip_blanks();                // blanks and tabs
  void skip_blank_lines();           // and comments and ends of lines
  void end_line(const char* after);  // nothing but a comment may follow on this line

  std::vector<std::string> key();  // dotted
  TomlValue scalar();              // a string, number or boolean

  [[noreturn]] void fail(const std::string& problem) const;

 private:
  bool is_at_newline() const { return sees("\n") || sees("\r\n"); }
  void skip_comment();
  void take_newline();
  std::string key_part();
  std::string basic_string();
  std::string literal_string();
  std::string multiline_string(std::string_view quotes);
  void escape(std::string& content);
  void join_lines();
  char plain_char(bool is_multiline);
  TomlValue word();

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace nf4bench
