#pragma once

#include "json/json_tree.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::json {

// A value of a parsed file and the way that leads to it. Whatever does not have the wanted type or
// range throws Error(kInput): "FILE: measurements[3].time_s.median: found a string, wanted a
// number". Borrows the tree and the file's name.
class JsonNode {
 public:
  JsonNode(const JsonTree& tree, const std::string& source, std::string path = "");

  // The field `name` of this object; an object without it is refused. Other fields are ignored.
  JsonNode operator[](std::string_view name) const;

  // Whether this object has the field `name`: for fields that older reports lack.
  bool has(std::string_view name) const;

  // The elements of this array. One at a time: a hostile file may hold very many.
  std::size_t size() const;
  JsonNode item(std::size_t index) const;

  bool is_null() const;
  bool boolean() const;
  double number(double low = -std::numeric_limits<double>::infinity()) const;
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  std::uint64_t unsigned_integer() const;
  std::string string() const;

  // A count or a size in bytes.
  std::int64_t count() const { return integer(0, std::numeric_limits<std::int64_t>::max()); }
  int small_count() const { return static_cast<int>(integer(0, std::numeric_limits<int>::max())); }

  // Null is the absence of a value.
  std::optional<double> optional_number(double low) const;
  std::optional<bool> optional_bool() const;
  std::string string_or_empty() const;

  std::vector<double> numbers(double low) const;
  std::vector<std::string> strings() const;

  // Refuses this value: "FILE: PATH: PROBLEM".
  [[noreturn]] void fail(const std::string& problem) const;

  // Refuses this value: "FILE: PATH: found VALUE, wanted WANTED".
  [[noreturn]] void refuse(const std::string& wanted) const;

 private:
  const JsonTree::Array& array() const;

  const JsonTree* tree_;
  const std::string* source_;
  std::string path_;
};

}  // namespace nf4bench::json
