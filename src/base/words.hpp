#pragma once

#include <array>
#include <cstddef>
#include <ranges>

namespace nf4bench {

// An enum whose values have words names them once, beside its definition:
//   constexpr auto words(Side /*any*/) {
//     using enum Side;
//     return std::to_array<Word<Side>>({{kLeft, "left"}, {kRight, "right"}});
//   }
// to_string(), options, readers and tests follow.
template <class Enum>
struct Word {
  Enum value;
  const char* word;
};

// The word of `value` among `words`; `other` where it has none.
template <std::ranges::range Words, class Enum>
constexpr const char* word_of(const Words& words, Enum value, const char* other = "") {
  for (const auto& [each, word] : words) {
    if (each == value) return word;
  }
  return other;
}

template <class Enum>
concept HasWords = requires {
  words(Enum());
};

template <HasWords Enum>
constexpr const char* to_string(Enum value) {
  return word_of(words(value), value);
}

// Its values, in the order of the words.
template <HasWords Enum>
inline constexpr auto kWords = [] {
  constexpr auto kAll = words(Enum());
  std::array<Enum, kAll.size()> values = {};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = kAll[i].value;
  return values;
}();

}  // namespace nf4bench
