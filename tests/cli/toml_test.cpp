#include "cli/options/toml.hpp"

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

json to_json(const cli::TomlValue& value) {
  switch (value.kind) {
    case cli::TomlValue::Kind::kString:
      return value.text;
    case cli::TomlValue::Kind::kInteger:
      return std::stoll(value.text);
    case cli::TomlValue::Kind::kFloat:
      return std::stod(value.text);
    case cli::TomlValue::Kind::kBoolean:
      return value.text == "true";
    case cli::TomlValue::Kind::kArray:
      break;
  }
  json items = json::array();
  for (const cli::TomlValue& item : value.items) items.push_back(to_json(item));
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
    const cli::TomlDocument document = cli::parse_toml(text, "a.toml");
    json tree = json::object();
    for (const cli::TomlTable& table : document.tables) {
      json& node = at(tree, table.path);
      if (node.is_null()) node = json::object();
    }
    for (const cli::TomlEntry& entry : document.entries)
      at(tree, entry.path) = to_json(entry.value);
    return tree;
  } catch (const Error&) {
    return nullptr;
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

TEST(Toml, TakesTablesApart) {
  EXPECT_EQ(read("run = { device = 'cpu', list = [1] }\ncompare.gate = true\n[doctor]"),
            json::parse(R"({"run": {"device": "cpu", "list": [1]}, "compare": {"gate": true},
                            "doctor": {}})"));
}

TEST(Toml, RefusesWhatNoOptionTakes) {
  for (const char* text :
       {"a = 2026-11-21", "a = 12:30:00", "a = inf", "a = nan", "a = [{b = 1}]", "[[a]]\nb = 1"}) {
    EXPECT_TRUE(read(text).is_null()) << text;
  }
}

TEST(Toml, RefusesNestingWithoutEnd) {
  EXPECT_TRUE(read("a = " + std::string(100000, '[')).is_null());
  std::string tables;
  for (int i = 0; i < 100000; ++i) tables += "a = {";
  EXPECT_TRUE(read(tables).is_null());
}

std::string complaint(const std::string& text) {
  try {
    cli::parse_toml(text, "a.toml");
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

TEST(Toml, ComplaintsNameTheProblem) {
  EXPECT_THAT(complaint("device = cpu"), HasSubstr("value type"));
  EXPECT_THAT(complaint("a = 1\na = 2"), HasSubstr("redefine existing integer 'a'"));
  EXPECT_THAT(complaint("path = \"C:\\dir\""), HasSubstr("unknown escape sequence"));
  EXPECT_THAT(complaint("[[run]]"), HasSubstr("one pair of brackets"));
  EXPECT_THAT(complaint("[run]\nmax-time = inf"), HasSubstr("a.toml:2: run.max-time: "));
}

TEST(Toml, LinesOfEntriesAreThoseOfTheirKeys) {
  const cli::TomlDocument document = cli::parse_toml("\n[run]\na = [\n1\n]\nb = 2\n", "a.toml");
  ASSERT_EQ(document.entries.size(), 2u);
  EXPECT_EQ(document.tables.at(0).line, 2);
  EXPECT_EQ(document.entries[0].line, 3);
  EXPECT_EQ(document.entries[1].line, 6);
}

}  // namespace
}  // namespace nf4bench::test
