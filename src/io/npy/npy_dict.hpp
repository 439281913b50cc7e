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
// once each, in any order. Nothing is evaluated and nothing nests. Throws Error(kInput), which
// starts with `where`, for any other text.
NpyDict parse_npy_dict(std::string_view where, std::string_view text, LongSuffix suffix);

}  // namespace nf4bench::io
