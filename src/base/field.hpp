#pragma once

#include "base/words.hpp"

#include <concepts>
#include <type_traits>

namespace nf4bench {

// What a field of a struct is besides its name and its type. A struct names its fields once, by
//   template <Is<Time> T, class F> void fields(T& t, F&& f) { f("median", t.median); ... }
// in the order of the JSON. Writers, readers and tests go through it. A member that is const though
// the struct is not is computed: it is written, and not read.
struct Field {
  bool later = false;    // older files lack it; what was there before is kept then
  bool or_null = false;  // zero and nothing are null in JSON
  bool or_none = false;  // null is not written at all, nor is what is false
  bool is_word = false;  // of small letters, digits and _: fit to print
  double low = 0.0;      // the least that a number may be
};

inline constexpr Field kOrNull = {.or_null = true};
inline constexpr Field kLater = {.later = true};

// T, or const T.
template <class Self, class T>
concept Is = std::same_as<std::remove_const_t<Self>, T>;

// Takes a field and does nothing.
struct NoVisit {
  template <class Member>
  void operator()(const char* /*name*/, Member& /*member*/, Field /*field*/ = {}) const {}
};

// Whether a struct names its fields.
template <class T>
concept HasFields = requires(T& value) {
  fields(value, NoVisit());
};

}  // namespace nf4bench
