#pragma once

#include <string_view>

namespace nf4bench::io {

// What a file that is no safetensors file looks like, from its first bytes: "a Git LFS pointer (run
// git lfs pull)", "a gzip archive", ...; empty when nothing is recognised.
std::string_view look_alike(std::string_view first_bytes);

}  // namespace nf4bench::io
