#pragma once

#include "json/json_tree.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench::json {

// A value of a parsed file, which knows the way that leads to it. Whatever does not have the wanted
// type or range throws Error(kInput): "FILE: measurements[3].time_s.median: found a string, wanted
// a number". Borrows the tree and the file's name.
class JsonNode {
 public:
  // The document in `tree`.
  JsonNode(const JsonTree& tree, const std::string& source) : tree_(&tree), source_(&source) {}

  // The field `name` of this object; an object without it is refused. Other fields are ignored.
  JsonNode operator[](std::string_view name) const;

  // Whether this object has the field `name`: for fields that older reports lack.
  bool has(std::string_view name) const;

  // Hands out the elements of this array, one at a time: a hostile file may hold very many.
  void each(const std::function<void(const JsonNode&)>& take) const;

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
  std::optional<int> optional_small_count() const;
  std::optional<bool> optional_bool() const;
  std::string string_or_empty() const;

  std::vector<double> numbers(double low) const;
  std::vector<std::string> strings() const;

  // Refuses this value: "FILE: PATH: PROBLEM".
  [[noreturn]] void fail(const std::string& problem) const;

  // Refuses this value: "FILE: PATH: found VALUE, wanted WANTED".
  [[noreturn]] void refuse(const std::string& wanted) const;

 private:
  JsonNode(const JsonNode& parent, JsonTree::Place place)
      : tree_(parent.tree_), place_(place), source_(parent.source_) {}

  JsonEvent value() const { return tree_->at(place_); }
  bool is(JsonKind kind) const { return tree_->kind(place_) == kind; }
  std::optional<JsonTree::Place> find(std::string_view name) const;
  [[noreturn]] void fail_at(const std::string& path, const std::string& problem) const;

  const JsonTree* tree_;
  JsonTree::Place place_ = 0;
  const std::string* source_;
  mutable JsonTree::Place key_ = 0;  // of the field found last: the next one is often behind it
};

}  // namespace nf4bench::json
