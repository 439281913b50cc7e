#pragma once

#include "nf4/tensor.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace nf4bench::io {

// One tensor to be written to a .safetensors file. `produce` returns its bytes when it is written,
// so that only one tensor at a time is in memory.
struct OutputTensor {
  std::string name;
  std::string dtype;  // safetensors spelling: "U8", "F16", "BF16", "F32"
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  std::function<std::vector<std::byte>()> produce;
};

// Writes a .safetensors file: to a temporary name beside it, flushed, then renamed. Throws
// Error(kOutput) naming the path and leaves no partial file.
void write_safetensors(const std::filesystem::path& path, const std::vector<OutputTensor>& tensors);

// Writes `tensors` as bitsandbytes' state dict does: weight, absmax, quant_map, nested_*,
// quant_state.
void write_nf4_safetensors(const std::filesystem::path& path,
                           std::span<const nf4::Nf4Tensor> tensors);

// Writes the same entries as a folder of .npy files, one for each entry. Makes the folder if it is
// missing.
void write_nf4_npy_folder(const std::filesystem::path& folder,
                          std::span<const nf4::Nf4Tensor> tensors);

}  // namespace nf4bench::io
