#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::fuzz {

struct JsonValue {
  enum class Kind : std::uint8_t {
    kNull,
    kBoolean,
    kUnsigned,  // an integer without sign, fraction and exponent that fits 64 bits
    kNumber,    // any other
    kString,
    kArray,
    kObject
  };
  Kind kind = Kind::kNull;
  std::uint64_t unsigned_value = 0;
  double number = 0.0;  // of both kinds of numbers
  std::string text;
  std::vector<JsonValue> items;    // an array's elements, or an object's values
  std::vector<std::string> names;  // of an object's values

  bool is(Kind wanted) const { return kind == wanted; }

  // The value of the member `name`; null when there is none.
  const JsonValue* find(std::string_view name) const;
};

// A second parser of strict JSON, which shares nothing with the project's: recursive descent over
// RFC 8259, no more than `max_depth` containers in one another, no key twice in an object, no
// number beyond double. Empty for everything else.
std::optional<JsonValue> parse_strict_json(std::string_view text, int max_depth);

}  // namespace nf4bench::fuzz
