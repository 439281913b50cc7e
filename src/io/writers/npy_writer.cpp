#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "io/writers/writers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <system_error>

namespace nf4bench::io {
namespace {

namespace fs = std::filesystem;

// The header as numpy writes it, spaces included: it leaves room for the first dimension to grow
// and starts the data at a multiple of 64.
std::string npy_header(const OutputTensor& tensor, ElementType type) {
  constexpr std::size_t kGrowthDigits = 21;
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kPreambleBytes = 10;
  const std::string first = fmt::format("{}", tensor.shape.at(0));
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                  type == ElementType::kF32 ? "<f4" : "|u1", fmt::join(tensor.shape, ", "),
                  tensor.shape.size() == 1 ? "," : "");
  text.append(kGrowthDigits - first.size(), ' ');
  while ((kPreambleBytes + text.size() + 1) % kAlignment != 0) text += ' ';
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

fs::path path_of(const fs::path& folder, const OutputTensor& tensor) {
  constexpr std::size_t kMaxFileName = 255;
  std::string name = tensor.name + ".npy";
  if (name.size() > kMaxFileName || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    throw output_error(
        folder, fmt::format("the tensor name \"{}\" cannot be a file name", escaped(tensor.name)));
  }
  return folder / name;
}

void write_npy(const fs::path& path, const OutputTensor& tensor, const WriteOptions& options) {
  const ElementType type = checked_type(path, tensor);
  AtomicFile file(path, check_of(options, path));
  file.write(npy_header(tensor, type));
  write_bytes(path, tensor, file);
  file.commit();
}

// Calls `action` for each file of each tensor.
template <class Action>
void for_each_file(const fs::path& folder, std::span<const nf4::Nf4Tensor> tensors, Action action) {
  for (const nf4::Nf4Tensor& tensor : tensors) {
    for (const OutputTensor& entry : state_dict_entries(tensor)) {
      action(path_of(folder, entry), entry);
    }
  }
}

}  // namespace

void write_nf4_npy_folder(const fs::path& folder, std::span<const nf4::Nf4Tensor> tensors,
                          const WriteOptions& options) {
  std::set<fs::path> paths;
  for_each_file(folder, tensors, [&](const fs::path& path, const OutputTensor& entry) {
    if (!paths.insert(path).second) {
      throw output_error(folder, fmt::format("two tensors are called \"{}\"", escaped(entry.name)));
    }
  });
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw output_error(folder, fmt::format("the folder cannot be made: {}", error.message()));
  }
  for_each_file(folder, tensors, [&](const fs::path& path, const OutputTensor&) {
    if (options.check) options.check(path);
  });
  for_each_file(folder, tensors, [&](const fs::path& path, const OutputTensor& entry) {
    write_npy(path, entry, options);
  });
}

}  // namespace nf4bench::io
