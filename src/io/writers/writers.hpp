#pragma once

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "io/byte_source.hpp"
#include "io/stored_tensors.hpp"
#include "nf4/tensor.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::io {

// One tensor to be written to a .safetensors file. `produce` hands over its bytes when it is
// written, so that no more than one tensor at a time is in memory.
struct OutputTensor {
  std::string name;
  std::string dtype;  // safetensors spelling: "U8", "F16", "BF16", "F32"
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  std::function<void(const ByteSink& sink)> produce;
};

// How files are written.
struct WriteOptions {
  std::string command = {};  // of nf4bench that writes them, kept in .safetensors; none when empty
  // Says by throwing that the file of this path must not be written; see check_output(). Asked when
  // a finished file gets its name.
  std::function<void(const std::filesystem::path& path)> check = {};
};

// Writes a .safetensors file: to a temporary name beside it, flushed, then renamed. Throws
// Error(kOutput) naming the path and leaves no partial file.
void write_safetensors(const std::filesystem::path& path, const std::vector<OutputTensor>& tensors,
                       const WriteOptions& options = {});

// The same without a last step: the file gets its name when the result is committed.
std::unique_ptr<AtomicFile> begin_safetensors(const std::filesystem::path& path,
                                              const std::vector<OutputTensor>& tensors,
                                              const WriteOptions& options);

// Whether a .safetensors file that begins so names the command of nf4bench that wrote it.
bool names_its_command(std::string_view beginning);

// Writes `tensors` as bitsandbytes' state dict does: weight, absmax, quant_map, nested_*,
// quant_state.
void write_nf4_safetensors(const std::filesystem::path& path,
                           std::span<const nf4::Nf4Tensor> tensors,
                           const WriteOptions& options = {});

// Writes the same entries as a folder of .npy files, one for each entry. Makes the folder if it is
// missing. All paths are checked before anything is written.
void write_nf4_npy_folder(const std::filesystem::path& folder,
                          std::span<const nf4::Nf4Tensor> tensors,
                          const WriteOptions& options = {});

// The entries of bitsandbytes' state dict for `tensor`: weight, absmax, quant_map, quant state and,
// when nested, nested_absmax and nested_quant_map. They borrow from `tensor`. Throws Error(kOutput)
// for an offset that JSON cannot hold.
std::vector<OutputTensor> state_dict_entries(const nf4::Nf4Tensor& tensor);

// The element type of `tensor`. Throws Error(kOutput) naming `path` and the tensor when its shape
// and bytes do not agree with the type, or when its name is not UTF-8.
ElementType checked_type(const std::filesystem::path& path, const OutputTensor& tensor);

// Writes the bytes of `tensor` to `file`, whose path messages name. Throws Error(kOutput) when they
// are not as many as it promised.
void write_bytes(const std::filesystem::path& path, const OutputTensor& tensor, AtomicFile& file);

// The check of `options` for the file of this path; empty when there is none.
AtomicFile::Check check_of(const WriteOptions& options, const std::filesystem::path& path);

// The error for something that cannot be written to `path`.
Error output_error(const std::filesystem::path& path, std::string_view what);

}  // namespace nf4bench::io
