#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::cli {

// A value of a TOML document.
struct TomlValue {
  enum class Kind { kString, kInteger, kFloat, kBoolean, kArray };
  Kind kind = Kind::kString;
  std::string text;  // a string's content; a number in plain decimal form; "true" or "false"
  std::vector<TomlValue> items;  // of an array
};

// "the string", "the integer", ... with its text: for messages.
std::string describe(const TomlValue& value);

// A key with its value. Each key of a table, also of an inline one, is an entry of its own.
struct TomlEntry {
  std::vector<std::string> path;  // {"run", "max-time"}
  TomlValue value;
  int line = 0;  // where the value begins, from 1
};

// A table of the document.
struct TomlTable {
  std::vector<std::string> path;
  int line = 0;
};

// What a document holds, each in the order of the text.
struct TomlDocument {
  std::vector<TomlTable> tables;
  std::vector<TomlEntry> entries;
};

// Reads TOML 1.0, but refuses dates, times, infinities and arrays of tables, which no option takes.
// Throws Error(kUsage) that begins with "NAME:LINE: ".
TomlDocument parse_toml(std::string_view text, const std::string& name);

}  // namespace nf4bench::cli
