#pragma once

#include "base/field.hpp"
#include "json/json_text.hpp"
#include "json/json_tree.hpp"
#include "statistics/statistics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace nf4bench::json {

// Writes structs that name their fields. A number that is not finite cannot be written: it becomes
// null, an array that holds one becomes empty, and a note says so. Where a value must be a number
// in a struct that may be absent, that struct is null instead.
class FieldWriter {
 public:
  template <class T>
  JsonText text(const T& value, Field field = {}) {
    if constexpr (HasFields<const T>) {
      return object(value);
    } else if constexpr (std::is_enum_v<T>) {
      return json_string(to_string(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      return field.or_none && !value ? json_null() : json_bool(value);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      return json_unsigned(value);
    } else if constexpr (std::is_integral_v<T>) {
      return field.or_null && value == 0 ? json_null() : json_integer(value);
    } else if constexpr (std::is_same_v<T, double>) {
      if (field.or_null && value == 0.0) return json_null();
      return number(value, field.or_null);
    } else {
      return field.or_null ? json_string_or_null(value) : json_string(value);
    }
  }

  template <class T>
  JsonText text(const std::optional<T>& value, Field /*field*/ = {}) {
    if (!value) return json_null();
    if constexpr (std::is_same_v<T, double>) {
      return number(*value, true);
    } else if constexpr (HasFields<const T>) {
      return guarded(*value);
    } else {
      return text(*value);
    }
  }

  JsonText text(const std::optional<statistics::Interval>& value, Field field = {});

  template <class T>
  JsonText text(const std::vector<T>& values, Field /*field*/ = {}) {
    if constexpr (std::is_same_v<T, double>) {
      return numbers(values);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      return json_integers(values);
    } else {
      std::vector<JsonText> texts;
      texts.reserve(values.size());
      path_.push_back({});
      for (const T& value : values) {
        path_.back().index = texts.size();
        texts.push_back(text(value));
      }
      path_.pop_back();
      return json_array(texts);
    }
  }

  // "measurements[0].bytes_per_s is not a finite number and was left out"
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Step {
    const char* name = nullptr;  // none: an element
    std::size_t index = 0;
  };

  template <class T>
  JsonText object(const T& value) {
    std::vector<JsonMember> members;
    fields(value, [&](const char* name, const auto& member, Field field = {}) {
      path_.push_back({name, 0});
      JsonText text = this->text(member, field);
      path_.pop_back();
      if (field.or_none && text.text == "null") return;
      members.push_back({name, std::move(text)});
    });
    return json_object(members);
  }

  template <class T>
  JsonText guarded(const T& value) {
    const bool outer = std::exchange(is_spoiled_, false);
    ++guards_;
    JsonText text = object(value);
    --guards_;
    if (!std::exchange(is_spoiled_, outer)) return text;
    note();
    return json_null();
  }

  JsonText number(double value, bool may_be_null);
  JsonText numbers(const std::vector<double>& values);
  void note();

  std::vector<Step> path_;
  int guards_ = 0;           // structs around the value that may be absent
  bool is_spoiled_ = false;  // the innermost of them holds what cannot be written
  std::vector<std::string> notes_;
};

[[noreturn]] void refuse_word(const JsonNode& node, const std::vector<std::string>& words);

// The value of an enum whose word `node` holds; another word is refused.
template <class Enum>
Enum read_word(const JsonNode& node) {
  const std::string found = node.string();
  for (const Enum each : kWords<Enum>) {
    if (found == to_string(each)) return each;
  }
  std::vector<std::string> words;
  words.reserve(kWords<Enum>.size());
  for (const Enum each : kWords<Enum>) words.emplace_back(to_string(each));
  refuse_word(node, words);
}

// Null where there were too few samples.
std::optional<statistics::Interval> read_interval(const JsonNode& node);

// A word of small letters, digits and _.
std::string read_name(const JsonNode& node);

// Reads structs that name their fields, and refuses what does not fit by its path. `check(node,
// value)` has the last word on each struct that it can be called with.
template <class Check>
class FieldReader {
 public:
  explicit FieldReader(Check& check) : check_(check) {}

  template <class T>
  void read(const JsonNode& node, T& value, Field field = {}) {
    if constexpr (HasFields<T>) {
      read_object(node, value);
    } else if constexpr (std::is_enum_v<T>) {
      value = read_word<T>(node);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = node.boolean();
    } else if (field.or_null && node.is_null()) {
      value = T();
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      value = node.unsigned_integer();
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      value = node.count();
    } else if constexpr (std::is_same_v<T, int>) {
      value = node.small_count();
    } else if constexpr (std::is_same_v<T, double>) {
      value = node.number(field.low);
    } else {
      value = field.is_word ? read_name(node) : node.string();
    }
  }

  template <class T>
  void read(const JsonNode& node, std::optional<T>& value, Field field = {}) {
    value.reset();
    if (!node.is_null()) read(node, value.emplace(), field);
  }

  void read(const JsonNode& node, std::optional<statistics::Interval>& value, Field /*field*/) {
    value = read_interval(node);
  }

  template <class T>
  void read(const JsonNode& node, std::vector<T>& values, Field field = {}) {
    if constexpr (std::is_same_v<T, double>) {
      values = node.numbers(field.low);
    } else {
      values.clear();
      node.each([&](const JsonNode& item) { read(item, values.emplace_back()); });
    }
  }

 private:
  template <class T>
  void read_object(const JsonNode& node, T& value) {
    fields(value, [&](const char* name, auto& member, Field field = {}) {
      if constexpr (!std::is_const_v<std::remove_reference_t<decltype(member)>>) {
        if ((field.later || field.or_none) && !node.has(name)) return;
        this->read(node[name], member, field);
      }
    });
    if constexpr (std::is_invocable_v<Check&, const JsonNode&, T&>) check_(node, value);
  }

  Check& check_;
};

}  // namespace nf4bench::json
