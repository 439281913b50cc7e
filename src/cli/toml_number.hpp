#pragma once

#include <optional>
#include <string>

#include "cli/toml.hpp"

namespace nf4bench {

// The integer or float that `word` spells by TOML's rules, in plain decimal form; none when it
// spells none, or an integer that 64 bits can not hold.
std::optional<TomlValue> toml_number(const std::string& word);

}  // namespace nf4bench
