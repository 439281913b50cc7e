#include "io/checkpoint/npy_folder.hpp"

#include "base/input_error.hpp"
#include "base/text.hpp"
#include "io/npy/npy.hpp"
#include "io/stored_tensors.hpp"

#include <fmt/format.h>

#include <string>

namespace nf4bench::io {
namespace {

constexpr std::string_view kArraySuffix = ".npy";

}  // namespace

void add_array(const std::filesystem::path& path, std::string_view name, Inventory& inventory) {
  const auto file = static_cast<std::uint32_t>(inventory.files.size());
  inventory.files.push_back({.path = path});
  std::vector<std::uint64_t> shape;
  StoredTensor tensor = {.name = name, .file = file};
  try {
    const ByteSource source = ByteSource::open(path);
    inventory.files.back().identity = source.identity();
    if (path.native().ends_with(kJsonStateSuffix)) {
      shape = {source.size()};
      tensor.bytes = source.size();
    } else {
      NpyHeader header = read_npy_header(source);
      shape = std::move(header.shape);
      tensor.type = header.type;
      tensor.begin = header.data_begin;
      tensor.bytes = header.data_bytes;
    }
  } catch (const Error& error) {
    inventory.unreadable.emplace(inventory.tensors.size(), error.what());
  }
  tensor.shape = shape;
  inventory.tensors.add(tensor);
}

bool is_npy_folder_file(std::string_view name) {
  return name.ends_with(kArraySuffix) || name.ends_with(kJsonStateSuffix);
}

std::string_view tensor_name(std::string_view name) {
  if (name.ends_with(kArraySuffix)) name.remove_suffix(kArraySuffix.size());
  return name;
}

Inventory open_npy_folder(const std::filesystem::path& folder,
                          const std::vector<std::filesystem::path>& files) {
  if (files.size() > kMaxStoredTensors) {
    throw input_error(escaped(folder.native()), "arrays", fmt::format("{}", files.size()),
                      fmt::format("at most {}", kMaxStoredTensors));
  }
  Inventory inventory;
  for (const std::filesystem::path& file : files) {
    add_array(file, tensor_name(file.filename().native()), inventory);
  }
  // x.quant_state.json.npy and x.quant_state.json would be the same tensor.
  if (const auto twin = inventory.tensors.index()) {
    throw input_error(
        escaped(folder.native()),
        fmt::format("two files hold the tensor {}", in_quotes(inventory.tensors[*twin].name)));
  }
  return inventory;
}

}  // namespace nf4bench::io
