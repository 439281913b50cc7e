#include "cli/toml.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/toml_scanner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

namespace nf4bench {
namespace {

constexpr int kDeepestNesting = 32;

class TomlParser {
 public:
  TomlParser(std::string_view text, const std::string& name) : scanner_(text, name) {}

  TomlDocument parse();

 private:
  using Path = std::vector<std::string>;

  // How a path came to be; decides who else may add to it.
  enum class Role {
    kValue,   // a value, or an inline table
    kHeader,  // by a [header]
    kParent,  // as the part of a header's path
    kDotted   // as the part of a dotted key
  };

  void header();
  void pair(const Path& table);
  void claim(const Path& path, std::size_t first_dotted);
  void value(const Path& path, int line);
  void inline_table(const Path& path);
  TomlValue array_or_scalar();
  TomlValue array();
  [[noreturn]] void fail_twice(const Path& path) const;

  TomlScanner scanner_;
  TomlDocument document_;
  Path table_;
  std::map<Path, Role> roles_;
  int depth_ = 0;
};

TomlDocument TomlParser::parse() {
  for (scanner_.skip_blank_lines(); !scanner_.is_at_end(); scanner_.skip_blank_lines()) {
    if (scanner_.sees("[")) {
      header();
    } else {
      pair(table_);
      scanner_.end_line("a value");
    }
  }
  return std::move(document_);
}

void TomlParser::fail_twice(const Path& path) const {
  scanner_.fail(
      fmt::format("{} is defined twice", escaped(fmt::format("{}", fmt::join(path, ".")))));
}

void TomlParser::header() {
  const int line = scanner_.line();
  if (scanner_.sees("[[")) {
    scanner_.fail(
        "an array of tables, [[...]], has no meaning here; write the name in one pair of "
        "brackets");
  }
  scanner_.expect("[", "before the name of a section");
  table_ = scanner_.key();
  scanner_.expect("]", "after the name of a section");
  scanner_.end_line("the name of a section");
  for (std::size_t size = 1; size < table_.size(); ++size) {
    const Path parent(table_.begin(), table_.begin() + static_cast<std::ptrdiff_t>(size));
    if (roles_.emplace(parent, Role::kParent).first->second == Role::kValue) fail_twice(parent);
  }
  const auto [known, is_new] = roles_.emplace(table_, Role::kHeader);
  if (!is_new && known->second != Role::kParent) fail_twice(table_);
  known->second = Role::kHeader;
  document_.tables.push_back({table_, line});
}

// Takes possession of a key's path, whose parts from `first_dotted` on the key itself names.
void TomlParser::claim(const Path& path, std::size_t first_dotted) {
  for (std::size_t size = first_dotted + 1; size < path.size(); ++size) {
    const Path parent(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(size));
    if (roles_.emplace(parent, Role::kDotted).first->second != Role::kDotted) fail_twice(parent);
  }
  if (!roles_.emplace(path, Role::kValue).second) fail_twice(path);
}

void TomlParser::pair(const Path& table) {
  const int line = scanner_.line();
  Path path = table;
  const Path key = scanner_.key();
  path.insert(path.end(), key.begin(), key.end());
  scanner_.expect("=", "after a key");
  scanner_.skip_blanks();
  claim(path, table.size());
  value(path, line);
}

void TomlParser::value(const Path& path, int line) {
  if (scanner_.take("{")) {
    inline_table(path);
  } else {
    document_.entries.push_back({path, array_or_scalar(), line});
  }
}

// On one line, without a comma after the last pair.
void TomlParser::inline_table(const Path& path) {
  if (++depth_ > kDeepestNesting) scanner_.fail("values are nested too deeply");
  document_.tables.push_back({path, scanner_.line()});
  scanner_.skip_blanks();
  if (!scanner_.take("}")) {
    do {
      pair(path);
      scanner_.skip_blanks();
    } while (scanner_.take(","));
    scanner_.expect("}", "after the last pair of an inline table");
  }
  --depth_;
}

TomlValue TomlParser::array_or_scalar() {
  if (scanner_.sees("{")) scanner_.fail("a table inside an array has no meaning here");
  return scanner_.take("[") ? array() : scanner_.scalar();
}

TomlValue TomlParser::array() {
  if (++depth_ > kDeepestNesting) scanner_.fail("values are nested too deeply");
  TomlValue value;
  value.kind = TomlValue::Kind::kArray;
  scanner_.skip_blank_lines();
  while (!scanner_.take("]")) {
    value.items.push_back(array_or_scalar());
    scanner_.skip_blank_lines();
    if (scanner_.take(",")) {
      scanner_.skip_blank_lines();
    } else if (!scanner_.sees("]")) {
      scanner_.expect("]", "or a comma after an array's item");
    }
  }
  --depth_;
  return value;
}

}  // namespace

std::string describe(const TomlValue& value) {
  switch (value.kind) {
    case TomlValue::Kind::kString:
      return fmt::format("the string \"{}\"", escaped(value.text));
    case TomlValue::Kind::kInteger:
      return "the integer " + value.text;
    case TomlValue::Kind::kFloat:
      return "the number " + value.text;
    case TomlValue::Kind::kBoolean:
      return value.text;
    case TomlValue::Kind::kArray:
      break;
  }
  return "an array";
}

TomlDocument parse_toml(std::string_view text, const std::string& name) {
  if (!is_utf8(text)) {
    throw Error(ErrorKind::kUsage, fmt::format("{}: is no UTF-8 text, as TOML is", escaped(name)));
  }
  return TomlParser(text, name).parse();
}

}  // namespace nf4bench
