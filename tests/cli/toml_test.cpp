#include "cli/toml.hpp"

#include "base/error.hpp"
#include "cli/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace nf4bench::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

json to_json(const TomlValue& value) {
  switch (value.kind) {
    case TomlValue::Kind::kString:
      return value.text;
    case TomlValue::Kind::kInteger:
      return std::stoll(value.text);
    case TomlValue::Kind::kFloat:
      return std::stod(value.text);
    case TomlValue::Kind::kBoolean:
      return value.text == "true";
    case TomlValue::Kind::kArray:
      break;
  }
  json items = json::array();
  for (const TomlValue& item : value.items) items.push_back(to_json(item));
  return items;
}

json& at(json& tree, const std::vector<std::string>& path) {
  json* node = &tree;
  for (const std::string& part : path) node = &(*node)[part];
  return *node;
}

// The document as one tree; null when it is refused.
json read(const std::string& text) {
  try {
    const TomlDocument document = parse_toml(text, "a.toml");
    json tree = json::object();
    for (const TomlTable& table : document.tables) {
      json& node = at(tree, table.path);
      if (node.is_null()) node = json::object();
    }
    for (const TomlEntry& entry : document.entries) at(tree, entry.path) = to_json(entry.value);
    return tree;
  } catch (const Error&) {
    return nullptr;
  }
}

const std::vector<std::string> kDocuments = {
    "",
    "# nothing but this",
    "a = 1 # and a comment\r\nb = 2\r\n",
    "[run]\ndevice = \"cpu\"\nmax-time = 0.5\n\n[compare]\ngate = true\n",
    "a = [1, 2,\n  3, # three\n]\nb = []\nc = [[1], ['x', \"y\"]]",
    "run = { device = 'cpu', list = [1] , 'quoted key' = true }",
    "run.device = 'cpu'\nrun.max-time = 1\n",
    "\"quoted.key\" = 1\n'' = 2\n1234 = 3\n",
    "a . b = 1",
    "[ a . 'b c' ]\nx = 1",
    "[a.b]\nx = 1\n[a]\ny = 2",
    "i = [0, -0, +7, 1_000, 0xDEAD_beef, 0o755, 0b1010, 9223372036854775807, -9223372036854775808]",
    "f = [1.0, -0.01, 6.626e-34, 1e06, 1_0.2_5, 5E+22, 3e2]",
    R"(s = "tab\t quote\" back\\ newline\n \u00e9 \U0001F600 \b\f\r")",
    R"(s = 'C:\path\n')",
    "s = \"\"\"\nfirst\nsecond \\\n    joined \"\" end\"\"\"",
    "s = '''\nraw \\n \" ' ''\n'''",
    "s = \"\"\"\"quoted\"\"\"\"",
    "s = \"\"\"a\\  \n\n  b\"\"\"",
    "s = \"\xc3\xa9\"",
    // From here on none is TOML.
    "a",
    "a =",
    "= 1",
    "a = 1 b = 2",
    "a = 1\na = 2",
    "a = cpu",
    "a = \"open",
    "a = \"line\nbreak\"",
    "a = 'open",
    "a = \"\"\"open",
    "a = \"\\q\"",
    "a = \"\\ud800\"",
    "a = \"\\U00110000\"",
    "a = \"\\u12\"",
    "a = \"\x01\"",
    "a = 1\rb = 2",
    "# \x01",
    "a = \"\xff\"",
    "a = 01",
    "a = 1_",
    "a = _1",
    "a = 1__0",
    "a = .5",
    "a = 5.",
    "a = 1.e3",
    "a = 1e",
    "a = -0x1",
    "a = 0x",
    "a = 0b2",
    "a = 0xg",
    "a = +-1",
    "a = 00.5",
    "a = True",
    "a = [1, 2",
    "a = [1,, 2]",
    "a = [1 2]",
    "a = {b = 1,}",
    "a = {b = 1\n}",
    "a = {b = 1, b = 2}",
    "a = {b = 1}\na.c = 2",
    "a = {b = 1}\n[a]",
    "a = {b = 1}\n[a.c]",
    "[a",
    "[a]]",
    "[]",
    "[a.]",
    "[a..b]",
    "[a]\n[a]",
    "a = 1\n[a]",
    "a = 1\n[a.b]",
    "a.b = 1\n[a]",
    "[a]\nb.c = 1\n[a.b]",
    "a.b = 1\na.b.c = 2",
    "a = 1\na.b = 2",
    "[a] b = 1",
    "a b = 1",
    "\"\"\"a\"\"\" = 1",
    "a\n= 1",
};

// Python's own reader of TOML, as far as there is one (3.11).
TEST(Toml, ReadsAndRefusesWhatPythonsReaderDoes) {
  const ScratchFolder scratch;
  std::ofstream(scratch.path("documents.json"))
      << json(kDocuments).dump(-1, ' ', true, json::error_handler_t::replace);
  const Outcome python = shell("PATH=/usr/bin:$PATH python3 - '" + scratch.path("documents.json") +
                               R"(' <<'END'
import json, sys
try:
    import tomllib
except ImportError:
    sys.exit(77)
results = []
for text in json.load(open(sys.argv[1])):
    try:
        results.append(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        results.append(None)
print(json.dumps(results))
END)");
  if (python.exit_code == 77) GTEST_SKIP() << "this Python has no tomllib; 3.11 has";
  ASSERT_EQ(python.exit_code, 0) << python.err;
  const json expected = json::parse(python.out);
  ASSERT_EQ(expected.size(), kDocuments.size());
  for (std::size_t i = 0; i < kDocuments.size(); ++i) {
    if (kDocuments[i].find('\xff') != std::string::npos) continue;  // JSON can not carry it there
    EXPECT_EQ(read(kDocuments[i]), expected[i]) << kDocuments[i];
  }
}

TEST(Toml, ReadsWhatIsInIt) {
  EXPECT_EQ(read("[run]\nshape = ['1x2', \"3x4\"]\nmax-time = 0.5 # s\nquiet = true\nseed = 0x10"),
            json::parse(R"({"run": {"shape": ["1x2", "3x4"], "max-time": 0.5, "quiet": true,
                                    "seed": 16}})"));
}

TEST(Toml, RefusesBytesThatAreNoUtf8) {
  EXPECT_TRUE(read("a = \"\xff\"").is_null());
}

TEST(Toml, RefusesNestingWithoutEnd) {
  EXPECT_TRUE(read("a = " + std::string(100000, '[')).is_null());
  std::string tables;
  for (int i = 0; i < 100000; ++i) tables += "a = {";
  EXPECT_TRUE(read(tables).is_null());
}

std::string complaint(const std::string& text) {
  try {
    parse_toml(text, "a.toml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Toml, ComplaintsBeginWithFileAndLine) {
  EXPECT_THAT(complaint("a = 1\n\nb = \n"), StartsWith("a.toml:3: "));
  EXPECT_THAT(complaint("a = [\n1,\n2 3]"), StartsWith("a.toml:3: "));
  EXPECT_THAT(complaint("s = '''\n\n'''\n[s"), StartsWith("a.toml:4: "));
}

TEST(Toml, ComplaintsSayWhatToDo) {
  EXPECT_THAT(complaint("device = cpu"), HasSubstr("quotes"));
  EXPECT_THAT(complaint("[[run]]"), HasSubstr("one pair of brackets"));
  EXPECT_THAT(complaint("a = 1\na = 2"), HasSubstr("a is defined twice"));
  EXPECT_THAT(complaint("path = \"C:\\dir\""), HasSubstr("single quotes"));
}

TEST(Toml, LinesOfEntriesAreThoseOfTheirKeys) {
  const TomlDocument document = parse_toml("\n[run]\na = [\n1\n]\nb = 2\n", "a.toml");
  ASSERT_EQ(document.entries.size(), 2u);
  EXPECT_EQ(document.tables.at(0).line, 2);
  EXPECT_EQ(document.entries[0].line, 3);
  EXPECT_EQ(document.entries[1].line, 6);
}

}  // namespace
}  // namespace nf4bench::test
