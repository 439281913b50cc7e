#include "io/checkpoint/raw_dump.hpp"

#include "base/error.hpp"
#include "io/checkpoint/inventory.hpp"
#include "io/checkpoint/npy_folder.hpp"
#include "io/checkpoint/quant_state.hpp"
#include "io/checkpoint/tensor_group.hpp"
#include "io/npy/npy.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

namespace nf4bench::io {
namespace {

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::string nf4_table() {
  std::array<float, nf4::kCodes> values = {};
  for (int code = 0; code < nf4::kCodes; ++code) {
    values[static_cast<std::size_t>(code)] = nf4::codebook_value(code);
  }
  return std::string(bytes_of(values));
}

// The offset in a file of one float32.
float read_offset(const std::filesystem::path& path, Inventory& inventory) {
  inventory.files.push_back({.path = path});
  const ByteSource source = ByteSource::open(path);
  const NpyHeader header = read_npy_header(source);
  if (header.type != ElementType::kF32 || header.data_bytes != sizeof(float)) {
    throw input_error(
        source.name(), "offset",
        fmt::format("{} {}", facts(header.type).spelling, dimensions_to_string(header.shape)),
        "one F32");
  }
  float offset = 0.0f;
  source.read(header.data_begin, std::as_writable_bytes(std::span(&offset, 1)));
  if (!std::isfinite(offset)) {
    throw input_error(source.name(), "offset", fmt::format("{}", offset), "a finite number");
  }
  return offset;
}

// Adds `bytes`, which no file holds, as the tensor `name`.
void add_made(std::string_view name, const StoredTensor& layout, std::string_view bytes,
              Inventory& inventory) {
  const auto all = std::as_bytes(std::span(bytes));
  StoredTensor tensor = layout;
  tensor.name = name;
  tensor.file = static_cast<std::uint32_t>(inventory.files.size());
  tensor.bytes = bytes.size();
  inventory.files.push_back(
      {.path = "--raw", .memory = {all.begin(), all.end()}, .is_memory = true});
  inventory.tensors.add(tensor);
}

void add_state(const RawDump& dump, Inventory& inventory) {
  nf4::Nf4Tensor stated;
  stated.shape = dump.shape;
  stated.blocksize = dump.blocksize;
  stated.dtype = dump.dtype;
  stated.absmax_kind = dump.is_nested() ? nf4::AbsmaxKind::kNested : nf4::AbsmaxKind::kPlain;
  stated.nested_offset =
      dump.offset_file.empty() ? dump.nested_offset : read_offset(dump.offset_file, inventory);
  const std::string text = write_quant_state(stated);
  const std::array<std::uint64_t, 1> shape = {text.size()};
  add_made(dump.name + std::string(kJsonStateSuffix), {.type = ElementType::kU8, .shape = shape},
           text, inventory);
}

void add_table(const RawDump& dump, Inventory& inventory) {
  const std::array<std::uint64_t, 1> shape = {nf4::kCodes};
  add_made(dump.name + std::string(suffix_of(Piece::kQuantMap)),
           {.type = ElementType::kF32, .shape = shape}, nf4_table(), inventory);
}

void add_dump(const RawDump& dump, Inventory& inventory) {
  const std::pair<Piece, const std::filesystem::path&> files[] = {
      {Piece::kWeight, dump.weight},
      {Piece::kAbsmax, dump.absmax},
      {Piece::kQuantMap, dump.quant_map},
      {Piece::kNestedAbsmax, dump.nested_absmax},
      {Piece::kNestedQuantMap, dump.nested_map}};
  for (const auto& [piece, path] : files) {
    if (!path.empty()) add_array(path, dump.name + std::string(suffix_of(piece)), inventory);
  }
  if (dump.quant_map.empty()) add_table(dump, inventory);
  add_state(dump, inventory);
}

}  // namespace

Inventory take_inventory(const std::vector<RawDump>& dumps) {
  Inventory inventory;
  for (const RawDump& dump : dumps) add_dump(dump, inventory);
  if (const auto twin = inventory.tensors.index()) {
    throw Error(ErrorKind::kUsage,
                "--raw: two dumps hold the tensor {}; give each a name of its own with name=",
                in_quotes(inventory.tensors[*twin].name));
  }
  return inventory;
}

}  // namespace nf4bench::io
