#include "io/name_table.hpp"
#include "json/json_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench {
namespace {

// Either text, twice, leaves libstdc++'s std::hash, MurmurHash2 (64A), in the same state: mixed,
// the two differ in the top bit alone, which the multiplication keeps and the second time takes
// back.
const std::array<std::string, 2> kExchangeable = {"\xd9\xb6tP\xde\x87\xc5\xaf",
                                                  "\xd9\xb6\x31jymm>"};

// 2^bits names of one hash.
std::vector<std::string> colliding_names(int bits) {
  std::vector<std::string> names = {""};
  for (int bit = 0; bit < bits; ++bit) {
    std::vector<std::string> longer;
    longer.reserve(2 * names.size());
    for (const std::string& name : names) {
      for (const std::string& text : kExchangeable) longer.push_back(name + text + text);
    }
    names = std::move(longer);
  }
  return names;
}

constexpr int kBits = 17;  // a path that compares all pairs would take minutes
constexpr std::chrono::seconds kSoon(20);

// A file that is made to have all its names in one bucket costs no more than another.
TEST(NamesOfOneHash, AreFoundInLittleTime) {
  const std::vector<std::string> names = colliding_names(kBits);
  const std::size_t hash = std::hash<std::string_view>{}(names.front());
  for (const std::string& name : names) ASSERT_EQ(std::hash<std::string_view>{}(name), hash);
  const auto start = std::chrono::steady_clock::now();
  io::NameTable table;
  for (const std::string& name : names) table.add(name);
  ASSERT_EQ(table.index(), std::nullopt);
  for (std::size_t i = 0; i < names.size(); ++i) ASSERT_EQ(table.find(names[i]), i);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
}

TEST(NamesOfOneHash, AreToldApartInLittleTime) {
  const std::vector<std::string> names = colliding_names(kBits);
  const auto start = std::chrono::steady_clock::now();
  json::KeyLedger ledger;
  ledger.open_object();
  for (const std::string& name : names) ledger.add(name);
  EXPECT_EQ(ledger.close_object(), std::nullopt);
  ledger.open_object();
  for (const std::string& name : names) ledger.add(name);
  ledger.add(names[12345]);
  EXPECT_EQ(ledger.close_object(), names[12345]);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kSoon);
}

TEST(NaturalOrder, ComparesRunsOfDigitsAsNumbers) {
  EXPECT_TRUE(io::natural_less("layers.2.w", "layers.10.w"));
  EXPECT_FALSE(io::natural_less("layers.10.w", "layers.2.w"));
  EXPECT_TRUE(io::natural_less("a9", "a10"));
  EXPECT_TRUE(io::natural_less("layers.10.a", "layers.10.b"));
  EXPECT_TRUE(io::natural_less("x99999999999999999999999", "x100000000000000000000000"));
}

TEST(NaturalOrder, PutsPrefixesFirstAndEqualNamesNowhere) {
  EXPECT_TRUE(io::natural_less("a", "ab"));
  EXPECT_TRUE(io::natural_less("", "a"));
  EXPECT_FALSE(io::natural_less("a1", "a1"));
  EXPECT_FALSE(io::natural_less("", ""));
}

TEST(NaturalOrder, IsTotalOverAllShortNames) {
  std::vector<std::string> names = {""};
  for (std::size_t i = 0; i < names.size() && names[i].size() < 4; ++i) {
    for (const char c : {'0', '1', 'a', '.', '\xff'}) names.push_back(names[i] + c);
  }
  std::ranges::sort(names, io::natural_less);
  // Every pair in order, not just neighbours: this is what a missing transitivity would break.
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = i + 1; j < names.size(); ++j) {
      ASSERT_TRUE(io::natural_less(names[i], names[j])) << names[i] << " " << names[j];
      ASSERT_FALSE(io::natural_less(names[j], names[i])) << names[i] << " " << names[j];
    }
  }
}

TEST(NameTable, FindsEveryNameAndNoOther) {
  io::NameTable table;
  const std::vector<std::string> names = {"b", "", "a", std::string("a\0b", 3), "ab"};
  for (const std::string& name : names) table.add(name);
  EXPECT_EQ(table.index(), std::nullopt);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(table.find(names[i]), i);
    EXPECT_EQ(table[i], names[i]);
  }
  EXPECT_EQ(table.find("c"), std::nullopt);
  EXPECT_EQ(table.find("abc"), std::nullopt);
}

TEST(NameTable, IsSearchableWhenEmpty) {
  io::NameTable table;
  EXPECT_EQ(table.find("a"), std::nullopt);
  EXPECT_EQ(table.index(), std::nullopt);
  EXPECT_EQ(table.find(""), std::nullopt);
}

TEST(NameTable, ReportsTheLaterOfTwoEqualNames) {
  io::NameTable table;
  for (const char* name : {"x", "twin", "y", "twin"}) table.add(name);
  EXPECT_EQ(table.index(), 3u);
}

TEST(KeyLedger, FindsDuplicatesInTheObjectThatHoldsThemOnly) {
  json::KeyLedger ledger;
  ledger.open_object();
  ledger.add("a");
  ledger.open_object();
  ledger.add("a");
  ledger.add("b");
  EXPECT_EQ(ledger.close_object(), std::nullopt);
  ledger.add("b");
  ledger.open_object();
  ledger.add("");
  ledger.add("");
  EXPECT_EQ(ledger.close_object(), "");
  ledger.add("c");
  ledger.add("b");
  EXPECT_EQ(ledger.close_object(), "b");
}

}  // namespace
}  // namespace nf4bench
