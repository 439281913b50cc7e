#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace nf4bench {

// The number that the whole of `text` is; empty when it is none, or does not fit.
template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace nf4bench
