#pragma once

#include "io/checkpoint/inventory.hpp"

#include <string_view>

namespace nf4bench::io {

inline constexpr std::string_view kNpzSuffix = ".npz";

// Each member of the .npz archive `file` is one tensor, named as in a .npy folder. Members that are
// ignored in such a folder are ignored here too. `file` has a path, or memory. A damaged member is
// noted as unreadable and only spoils the weight that needs it. Throws Error(kInput) for an archive
// that is damaged as a whole.
Inventory open_npz(InputFile file);

}  // namespace nf4bench::io
