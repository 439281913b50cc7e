#pragma once

#include "json/json_events.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::json {

// A parsed document. Its values lie in the order of the text, 9 bytes each, because a file may hold
// half a billion. In an object each value has its key before it. Objects have no key twice.
class JsonTree {
 public:
  using Place = std::uint32_t;  // of a value or a key; the document itself is at 0

  // What is there: a scalar, a key with its text, or the beginning of a container. The text is
  // valid as long as the tree.
  JsonEvent at(Place place) const;
  JsonKind kind(Place place) const { return kinds_[place]; }

  // Of the string or key at `place`.
  std::string_view text(Place place) const {
    return std::string_view(text_).substr(high_half(place), low_half(place));
  }

  // Values directly in the container at `container`. The first one, or its key, is right behind it.
  std::size_t size(Place container) const { return low_half(container); }

  // Where the next value, key or end is behind the whole of the value at `value`.
  Place behind(Place value) const;

  // The way that leads to `place`: "measurements[3].time_s"; empty for the document itself.
  std::string path_to(Place place) const;

  // Takes room for the text of strings and keys, which is touched when it is used.
  void expect(std::size_t bytes) { text_.reserve(bytes); }

  // The next step through the document.
  void add(const JsonEvent& event);

 private:
  void push(JsonKind kind, std::uint64_t bits);
  std::uint32_t low_half(Place place) const { return static_cast<std::uint32_t>(bits_[place]); }
  std::uint32_t high_half(Place place) const {
    return static_cast<std::uint32_t>(bits_[place] >> 32);
  }

  // Deques grow without copying. The bits are a number; the length of a text and where it begins;
  // or the values in a container and what is behind it.
  std::deque<JsonKind> kinds_;
  std::deque<std::uint64_t> bits_;
  std::string text_;  // of all strings and keys
  std::vector<Place> open_;
};

// Parses untrusted `text`, less than 4 GiB, in bounded depth. Throws Error(kInput) naming `source`
// when it is not JSON, nested too deeply, has a field twice or a number beyond double.
JsonTree parse_json(std::string_view text, const std::string& source);

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
  std::string string_or_empty() const;

  std::vector<double> numbers(double low) const;

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
