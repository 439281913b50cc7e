#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace nf4bench::peer {

// The value of a name in an expression; none: there is no such name.
using ValueOf = std::function<std::optional<double>(const std::string& name)>;

// What "ceil(elements/4096)" comes to: numbers, names, + - * /, brackets, ceil, floor, min and max,
// in double precision. Throws std::invalid_argument saying what is wrong with `text`.
double evaluate(const std::string& text, const ValueOf& value_of);

}  // namespace nf4bench::peer
