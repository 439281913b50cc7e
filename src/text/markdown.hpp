#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nf4bench::text {

// escaped(text, max_chars), so that nothing in it is taken for markup of Markdown or HTML, or
// mentions anybody.
std::string in_markdown(std::string_view text, std::size_t max_chars);

}  // namespace nf4bench::text
