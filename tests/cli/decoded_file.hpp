#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nf4bench::test {

// One tensor of a .safetensors file, read by a reader that shares no code with the program's.
struct DecodedTensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string sha256;  // of its bytes
};

// The tensors of the .safetensors file at `path` by name.
std::map<std::string, DecodedTensor> read_decoded(const std::string& path);

// What bitsandbytes decodes the tensors of data/`file` to, from data/expected.txt: for each tensor
// name the SHA-256 per output type, and the type its state names.
struct ExpectedTensor {
  std::string shape;
  std::string dtype;
  std::map<std::string, std::string> sha256;  // by "float16", "bfloat16", "float32"
};
std::map<std::string, ExpectedTensor> expected_of(const std::string& file);

}  // namespace nf4bench::test
