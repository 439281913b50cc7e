#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace nf4bench::json {

// A finished piece of JSON text. Made only by the functions below, so that a plain string is never
// taken for JSON.
struct JsonText {
  std::string text;
};

// How a container is laid out. What it holds is finished already and keeps its own layout.
enum class JsonLayout : std::uint8_t {
  kFitted,    // what is short on one line, what is long with a member a line
  kExpanded,  // a member a line, however short
  kOneLine,   // all on one line, as Python writes it
  kCompact,   // no blank anywhere
};

JsonText json_null();
JsonText json_bool(bool value);
JsonText json_integer(std::int64_t value);
JsonText json_unsigned(std::uint64_t value);

// The shortest decimal that reads back as the same double. Null when it is not finite.
JsonText json_number(double value);

// The same as Python writes it, which never looks like an integer: 2.0, 1e+16.
JsonText json_float(double value);

// Bytes that are not UTF-8 become U+FFFD. Characters that a terminal would act on are written in
// numbers, so that JSON can be printed: \u001b, \u009b, \u202e.
JsonText json_string(std::string_view value);

// Null when `value` is empty.
JsonText json_string_or_null(std::string_view value);

JsonText json_strings(const std::vector<std::string>& values,
                      JsonLayout layout = JsonLayout::kFitted);

// Whatever of these `value` is; null for none.
template <typename T>
JsonText json_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return json_bool(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    return json_unsigned(value);
  } else if constexpr (std::is_integral_v<T>) {
    return json_integer(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return json_number(value);
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return json_string(value);
  } else {
    return json_strings(value);
  }
}
template <typename T>
JsonText json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : json_null();
}

// A member of an object; `name` may be any text.
struct JsonMember {
  JsonMember(std::string_view called, JsonText text) : name(called), value(std::move(text)) {}
  template <typename T>
  JsonMember(std::string_view called, const T& plain) : name(called), value(json_of(plain)) {}

  std::string_view name;
  JsonText value;
};

// Two, so that members that are listed where it is called are not copied.
JsonText json_object(std::initializer_list<JsonMember> members,
                     JsonLayout layout = JsonLayout::kFitted);
JsonText json_object(const std::vector<JsonMember>& members,
                     JsonLayout layout = JsonLayout::kFitted);
JsonText json_array(const std::vector<JsonText>& items, JsonLayout layout = JsonLayout::kFitted);

// An array of what `to_text` makes of each item.
template <typename Item, typename Function>
JsonText json_array_of(const std::vector<Item>& items, Function&& to_text,
                       JsonLayout layout = JsonLayout::kFitted) {
  std::vector<JsonText> texts;
  texts.reserve(items.size());
  for (const Item& item : items) texts.push_back(to_text(item));
  return json_array(texts, layout);
}

// Arrays of numbers stand on one line, however many there are.
JsonText json_numbers(std::span<const double> values);
JsonText json_integers(std::span<const std::int64_t> values);

}  // namespace nf4bench::json
