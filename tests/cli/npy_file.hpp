#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

namespace nf4bench::test {

// Writes an array of float32 or int32 as numpy does; `shape` as in "4, 128".
template <class T>
void write_npy(const std::string& path, const std::string& shape, const std::vector<T>& values) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>);
  const char* const type = std::is_same_v<T, float> ? "<f4" : "<i4";
  std::string dict =
      std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  dict.resize(117, ' ');
  dict += '\n';
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(dict.size()) << '\0' << dict;
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
}

}  // namespace nf4bench::test
