#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::fuzz {

// The tensors of a .safetensors file, to be changed and written again.
struct ModelTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::string bytes;
};

using Model = std::vector<ModelTensor>;

// Empty unless `file` is valid.
std::optional<Model> model_of(std::string_view file);

// A file whose offsets follow from the bytes, whatever dtypes and shapes say.
std::string to_file(const Model& model);

// A file with this header, its length before it, and these data.
std::string to_file(std::string_view header, std::string_view data);

// Bytes of one element; 1 for types narrower than that.
std::uint64_t element_bytes(std::string_view dtype);

// Gives `tensor` as many bytes as its type and shape ask for, if these are few; false if not.
bool fit_bytes(ModelTensor& tensor);

// Gives the weight `name` and its scales the lengths that its quant state asks for, if that can be
// read and asks for little.
void fit_weight(Model& model, const std::string& name);

}  // namespace nf4bench::fuzz
