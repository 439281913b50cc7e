#include "cli/decoded_file.hpp"

#include "base/sha256.hpp"
#include "cli/process.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <span>
#include <sstream>

namespace nf4bench::test {

std::map<std::string, DecodedTensor> read_decoded(const std::string& path) {
  const std::string bytes = read_file(path);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const std::string data = bytes.substr(8 + header_bytes);
  std::map<std::string, DecodedTensor> tensors;
  const auto header = nlohmann::json::parse(bytes.substr(8, header_bytes));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const auto offsets = entry.at("data_offsets").get<std::vector<std::size_t>>();
    Sha256 hash;
    hash.update(std::as_bytes(std::span(data).subspan(offsets.at(0), offsets.at(1) - offsets[0])));
    tensors[name] = {entry.at("dtype"), entry.at("shape"), hash.hex()};
  }
  return tensors;
}

std::map<std::string, ExpectedTensor> expected_of(const std::string& file) {
  std::ifstream table(sample("expected.txt"));
  std::map<std::string, ExpectedTensor> tensors;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string found, name, blocksize, absmax, storage, float16, bfloat16, float32;
    ExpectedTensor tensor;
    words >> found >> name >> tensor.shape >> blocksize >> absmax >> tensor.dtype >> storage >>
        float16 >> bfloat16 >> float32;
    if (found != file) continue;
    tensor.sha256 = {{"float16", float16}, {"bfloat16", bfloat16}, {"float32", float32}};
    tensors[name] = tensor;
  }
  return tensors;
}

}  // namespace nf4bench::test
