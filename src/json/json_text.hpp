#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::json {

// A finished piece of JSON text: what short containers hold stands on one line, long ones have one
// member a line. Made only by the functions below, so that a plain string is never taken for JSON.
struct JsonText {
  std::string text;
};

// A member of an object. `name` is written as it is: plain letters, digits and underscores.
struct JsonMember {
  std::string_view name;
  JsonText value;
};

JsonText json_null();
JsonText json_bool(bool value);
JsonText json_integer(std::int64_t value);
JsonText json_unsigned(std::uint64_t value);

// The shortest decimal that reads back as the same double. Null when it is not finite.
JsonText json_number(double value);

// Bytes that are not UTF-8 become U+FFFD.
JsonText json_string(std::string_view value);

// Null when `value` is empty.
JsonText json_string_or_null(std::string_view value);

JsonText json_object(const std::vector<JsonMember>& members);
JsonText json_array(const std::vector<JsonText>& items);

// Arrays of numbers stand on one line, however many there are.
JsonText json_numbers(std::span<const double> values);
JsonText json_integers(std::span<const std::int64_t> values);

}  // namespace nf4bench::json
