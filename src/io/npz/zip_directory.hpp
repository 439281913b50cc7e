#pragma once

#include "io/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nf4bench::io {

// libzip compares each name with all that have the same hash, and a hostile archive can give all
// names one hash. With this many members and names of this length that takes 2 s; with four times
// as many, 100 s.
inline constexpr std::uint64_t kMaxZipMembers = 16'384;
inline constexpr std::size_t kMaxZipNameBytes = 255;
inline constexpr std::uint64_t kMaxZipDirectoryBytes = std::uint64_t{8} << 20;

// The names of all members of a zip archive, in the order of its directory. Refuses every archive
// that readers could understand in different ways, or that would take a library too long to look
// at: more than one end record, a directory that does not end where the end record begins, several
// disks, names with a path, names that occur twice, members that say something else of themselves
// than the directory. Throws Error(kInput).
std::vector<std::string> read_zip_names(const ByteSource& source);

}  // namespace nf4bench::io
