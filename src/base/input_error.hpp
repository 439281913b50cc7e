#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>

namespace nf4bench {

// The error every reader of an input throws: "<where>: <what>", kind kInput. `where` must be safe
// to print: parts of it that come from a file have been through escaped().
Error input_error(std::string_view where, std::string_view what);

// "<where>: <field>: found <found>, wanted <wanted>".
Error input_error(std::string_view where, std::string_view field, std::string_view found,
                  std::string_view wanted);

// `name` in double quotes, with everything escaped that could disturb a terminal.
std::string in_quotes(std::string_view name);

}  // namespace nf4bench
