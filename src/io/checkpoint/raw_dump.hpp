#pragma once

#include "nf4/format.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nf4bench::io {

// One NF4 tensor as .npy files of any names, with what its quant state would say.
struct RawDump {
  std::string name;  // of the tensor; not empty
  std::vector<std::int64_t> shape;
  int blocksize = 0;
  nf4::OutputType dtype = nf4::OutputType::kBfloat16;
  std::filesystem::path weight = {};
  std::filesystem::path absmax = {};
  std::filesystem::path quant_map = {};      // empty: not dumped, and NF4's own
  std::filesystem::path nested_absmax = {};  // empty when plain, as is the next
  std::filesystem::path nested_map = {};
  float nested_offset = 0.0f;              // finite
  std::filesystem::path offset_file = {};  // of one float32, which takes the place of nested_offset

  bool is_nested() const { return !nested_absmax.empty(); }
};

}  // namespace nf4bench::io
