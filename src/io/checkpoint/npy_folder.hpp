#pragma once

#include "io/checkpoint/inventory.hpp"

#include <filesystem>
#include <string_view>
#include <vector>

namespace nf4bench::io {

// The name that a quant state has in a .npy folder or .npz archive when it is JSON text instead of
// an array.
inline constexpr std::string_view kJsonStateSuffix = ".quant_state.json";

// True for names of files that a .npy folder reads: *.npy and *.quant_state.json.
bool is_npy_folder_file(std::string_view name);

// The name of the tensor in a file called `name`: without .npy.
std::string_view tensor_name(std::string_view name);

// Adds the file at `path` as the tensor `name`. A damaged file is noted as unreadable.
void add_array(const std::filesystem::path& path, std::string_view name, Inventory& inventory);

// Each of `files` is one tensor, whose name is that of the file without .npy. A damaged file is
// noted as unreadable and only spoils the weight that needs it.
Inventory open_npy_folder(const std::filesystem::path& folder,
                          const std::vector<std::filesystem::path>& files);

inline constexpr std::string_view kNpzSuffix = ".npz";

// Each member of the .npz archive `file` is one tensor, named as in a .npy folder. Members that are
// ignored in such a folder are ignored here too. `file` has a path, or memory. A damaged member is
// noted as unreadable and only spoils the weight that needs it. Throws Error(kInput) for an archive
// that is damaged as a whole.
Inventory open_npz(InputFile file);

}  // namespace nf4bench::io
