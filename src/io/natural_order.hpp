#pragma once

#include <string_view>

namespace nf4bench::io {

// True when `a` comes before `b` for a person: runs of digits compare as numbers, so that layers.2
// comes before layers.10. A total order: only equal names are neither before nor after.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace nf4bench::io
