#pragma once

#include <string_view>

namespace nf4bench::io {

// What kind of file it is instead of a safetensors file, judged by its first bytes: "a Git LFS
// pointer (run git lfs pull)", "a gzip archive", ...; empty when nothing is recognised.
std::string_view look_alike(std::string_view first_bytes);

}  // namespace nf4bench::io
