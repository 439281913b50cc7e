#include "io/checkpoint/npy_folder.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/byte_source.hpp"
#include "io/npy/npy.hpp"
#include "io/stored_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::io {
namespace {

constexpr std::string_view kArraySuffix = ".npy";

using namespace std::string_view_literals;

// A zip archive that begins with other bytes may be two files in one, and readers would differ in
// which of the two they read.
void require_zip(const ByteSource& source) {
  const std::string first = source.read_text(0, std::min<std::uint64_t>(source.size(), 64));
  if (first.starts_with("PK\x03\x04"sv) || first.starts_with("PK\x05\x06"sv)) return;
  const std::string_view other = look_alike(first);
  throw input_error(source.name(),
                    other.empty() ? std::string("not a .npz archive: it does not start with PK")
                                  : fmt::format("not a .npz archive; it looks like {}", other));
}

void add_member(const NpzArchive& archive, std::size_t number, Inventory& inventory) {
  const NpzMember& member = archive.members()[number];
  const std::string name(tensor_name(member.name));
  std::vector<std::uint64_t> shape;
  StoredTensor tensor = {.name = name, .begin = member.begin};
  try {
    if (!member.problem.empty()) throw Error(ErrorKind::kInput, member.problem);
    if (member.name.ends_with(kJsonStateSuffix)) {
      shape = {member.bytes};
      tensor.bytes = member.bytes;
    } else {
      NpyHeader header = parse_npy_header(
          archive.where(number), archive.read_start(number, kMaxNpyStartBytes), member.bytes);
      shape = std::move(header.shape);
      tensor.type = header.type;
      tensor.begin += header.data_begin;
      tensor.bytes = header.data_bytes;
    }
  } catch (const Error& error) {
    inventory.unreadable.emplace(inventory.tensors.size(), error.what());
  }
  tensor.shape = shape;
  inventory.tensors.add(tensor);
}

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

Inventory open_npz(InputFile file) {
  Inventory inventory;
  inventory.files.push_back(std::move(file));
  InputFile& input = inventory.files.front();
  ByteSource source = open_bytes(input);
  require_zip(source);
  input.identity = source.identity();
  input.archive = std::make_unique<NpzArchive>(std::move(source));
  const std::vector<NpzMember>& members = input.archive->members();
  for (std::size_t number = 0; number < members.size(); ++number) {
    if (is_npy_folder_file(members[number].name)) add_member(*input.archive, number, inventory);
  }
  // x.quant_state.json.npy and x.quant_state.json would be the same tensor.
  if (const auto twin = inventory.tensors.index()) {
    throw input_error(input.archive->name(), fmt::format("two members hold the tensor {}",
                                                         in_quotes(inventory.tensors[*twin].name)));
  }
  return inventory;
}

}  // namespace nf4bench::io
