#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::io {

// What the Python dict in a .npy header says.
struct NpyDict {
  std::string descr;
  bool is_fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Whether integers may carry the suffix L, as Python 2 wrote them.
enum class LongSuffix : std::uint8_t { kAllowed, kRefused };

// Reads exactly what numpy writes: a dict literal with the keys descr, fortran_order and shape,
// once each, in any order. Evaluates nothing and allows no nesting. Throws Error(kInput) for any
// other text; its message starts with `where`.
NpyDict parse_npy_dict(std::string_view where, std::string_view text, LongSuffix suffix);

}  // namespace nf4bench::io
