#pragma once

#include <string_view>

namespace nf4bench::io {

// True when `a` comes before `b` as a person would sort them: runs of digits compare as numbers, so
// that layers.2 comes before layers.10. A total order: of two different names one comes first.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace nf4bench::io
