#pragma once

#include "io/checkpoint/inventory.hpp"

#include <string_view>

namespace nf4bench::io {

inline constexpr std::string_view kNpzSuffix = ".npz";

// Takes each member of the .npz archive `file` for one tensor, named as in a .npy folder; members
// that such a folder would not read are passed over. `file` has a path, or memory. A damaged member
// is noted as unreadable and spoils only the tensor that needs it. Throws Error(kInput) for an
// archive that is damaged as a whole.
Inventory open_npz(InputFile file);

}  // namespace nf4bench::io
