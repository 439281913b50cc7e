#pragma once

#include "base/file_lock.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/stat.h>

namespace nf4bench {

// A regular file that is open for reading, and what it was when it was opened.
struct InputFile {
  Descriptor descriptor;
  struct stat status = {};
};

// Opens the regular file that `path` leads to. Never waits: FIFOs, sockets, devices and folders are
// refused. Throws Error(kInput) that begins with the path, escaped.
InputFile open_input(const std::filesystem::path& path);

// The whole of such a file. Throws Error(kInput) when it has more than `most_bytes`, which is asked
// before memory is taken, and when it is written to meanwhile.
std::string read_input(const std::filesystem::path& path, std::uint64_t most_bytes);

// What a file of this program's own holds; empty where it cannot be read.
std::string text_in(const std::filesystem::path& path);

}  // namespace nf4bench
