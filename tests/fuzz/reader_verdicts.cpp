// Prints, for every file of a folder, what this project's reader decides of it: its name, a tab,
// and ACCEPT or the message. reference_readers.py compares that with the reference readers.

#include "base/error.hpp"
#include "io/npy/npy.hpp"
#include "io/safetensors/safetensors_header.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace nf4bench {
namespace {

std::string verdict(const std::string& file, bool is_npy) {
  const io::ByteSource source = io::ByteSource::in_memory("file", std::as_bytes(std::span(file)));
  try {
    io::StoredTensors tensors;
    if (is_npy) {
      io::read_npy_header(source);
    } else {
      io::read_safetensors_header(source, 0, tensors);
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "ACCEPT";
}

}  // namespace
}  // namespace nf4bench

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: reader_verdicts safetensors|npy FOLDER\n";
    return 2;
  }
  const bool is_npy = std::strcmp(arguments[1], "npy") == 0;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[2])) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(stream), {}};
    std::cout << entry.path().filename().native() << '\t' << nf4bench::verdict(file, is_npy)
              << '\n';
  }
  return 0;
}
