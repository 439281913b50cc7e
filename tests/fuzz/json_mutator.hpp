#pragma once

#include "fuzz/random.hpp"

#include <string>
#include <string_view>

namespace nf4bench::fuzz {

// Changes one thing in `text` that a reader of JSON sees. A value is replaced by another one of
// this document or by an odd one; a member or an element is removed, doubled or wrapped. `text`
// need not be valid.
std::string mutate_json_text(std::string_view text, Random& random);

}  // namespace nf4bench::fuzz
