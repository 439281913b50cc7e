#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nf4bench::fuzz {

// Readers written a second time, from docs/formats.md and the formats' own documents, with nothing
// of src/io in them: what they and the project's readers disagree about is a mistake in one.

// A tensor as a safetensors header declares it; the offsets count from the start of the file.
struct DeclaredTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const DeclaredTensor&) const = default;
};

// The tensors of the .safetensors file `file`, in the header's order; empty when it is refused.
std::optional<std::vector<DeclaredTensor>> second_safetensors(std::string_view file);

// Tensor and shard of each entry of an index's weight_map, in order; empty when it is refused.
std::optional<std::vector<std::pair<std::string, std::string>>> second_index(std::string_view text);

// What a quant state says; of one that is not NF4 the type alone.
struct DeclaredState {
  std::string quant_type;
  std::uint64_t blocksize = 0;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::optional<float> nested_offset;
  bool operator==(const DeclaredState&) const = default;
};

// Empty when it is refused.
std::optional<DeclaredState> second_quant_state(std::string_view text);

}  // namespace nf4bench::fuzz
