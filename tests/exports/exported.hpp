#pragma once

#include "exports/export.hpp"

#include <string>

namespace nf4bench::test {

// The whole text that one of the exports writes.
template <typename Function, typename... Arguments>
std::string exported(Function&& write, const Arguments&... arguments) {
  std::string text;
  write(arguments..., [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace nf4bench::test
