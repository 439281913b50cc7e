#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nf4bench {

// A value of a TOML document.
struct TomlValue {
  enum class Kind { kString, kInteger, kFloat, kBoolean, kArray };
  Kind kind = Kind::kString;
  std::string text;  // a string's content; a number in plain decimal form; "true" or "false"
  std::vector<TomlValue> items;  // of an array
};

// "the string", "the integer", ... with its text: for messages.
std::string describe(const TomlValue& value);

// A key with its value; inline tables are taken apart into one entry a key.
struct TomlEntry {
  std::vector<std::string> path;  // {"run", "max-time"}
  TomlValue value;
  int line = 0;  // of the key, from 1
};

// A table that a [header] opens.
struct TomlTable {
  std::vector<std::string> path;
  int line = 0;
};

// What a document holds, each in the order of the text.
struct TomlDocument {
  std::vector<TomlTable> tables;
  std::vector<TomlEntry> entries;
};

// Reads TOML 1.0 without dates, times and arrays of tables, for which nothing here has a use.
// Throws Error(kUsage) that begins with "NAME:LINE: ".
TomlDocument parse_toml(std::string_view text, const std::string& name);

}  // namespace nf4bench
