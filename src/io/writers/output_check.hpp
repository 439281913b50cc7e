#pragma once

#include "base/error.hpp"
#include "io/element_type.hpp"
#include "io/writers/writers.hpp"

#include <filesystem>
#include <string_view>

namespace nf4bench::io {

// The element type of `tensor`. Throws Error(kOutput) naming `path` and the tensor when its shape
// and bytes do not agree with the type, or when its name is not UTF-8.
ElementType checked_type(const std::filesystem::path& path, const OutputTensor& tensor);

// Writes the bytes of `tensor` to `file`, whose path messages name. Throws Error(kOutput) when they
// are not as many as it promised.
void write_bytes(const std::filesystem::path& path, const OutputTensor& tensor, AtomicFile& file);

// The check of `options` for the file of this path; empty when there is none.
AtomicFile::Check check_of(const WriteOptions& options, const std::filesystem::path& path);

// The error for something that cannot be written to `path`.
Error output_error(const std::filesystem::path& path, std::string_view what);

}  // namespace nf4bench::io
