#pragma once

#include "fuzz/random.hpp"

#include <string>
#include <string_view>

namespace nf4bench::fuzz {

// Changes one thing in `text` that a reader of JSON sees: a value becomes another one, of this
// document or odd in itself; a member or an element goes, comes twice, or is wrapped. `text` need
// not be valid.
std::string mutate_json_text(std::string_view text, Random& random);

}  // namespace nf4bench::fuzz
