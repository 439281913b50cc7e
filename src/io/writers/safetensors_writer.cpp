#include "base/atomic_file.hpp"
#include "base/checked.hpp"
#include "base/text.hpp"
#include "io/safetensors/safetensors_header.hpp"
#include "io/writers/writers.hpp"
#include "json/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace nf4bench::io {
namespace {

constexpr std::size_t kHeaderLengthBytes = 8;        // of the header, before it
constexpr std::string_view kWriterKey = "nf4bench";  // of the metadata: the command that wrote it

struct Placed {
  const OutputTensor* tensor;
  ElementType type;
};

// The order of the reference writer: widest types first, so that they stay aligned, then by name.
std::vector<Placed> in_file_order(const std::filesystem::path& path,
                                  const std::vector<OutputTensor>& tensors) {
  std::vector<Placed> placed;
  placed.reserve(tensors.size());
  for (const OutputTensor& tensor : tensors)
    placed.push_back({&tensor, checked_type(path, tensor)});
  std::ranges::sort(placed, [](const Placed& a, const Placed& b) {
    return a.type != b.type ? a.type > b.type : a.tensor->name < b.tensor->name;
  });
  std::vector<std::string_view> names;
  names.reserve(placed.size());
  for (const Placed& p : placed) names.emplace_back(p.tensor->name);
  std::ranges::sort(names);
  if (const auto twin = std::ranges::adjacent_find(names); twin != names.end()) {
    throw output_error(path, fmt::format("two tensors are called \"{}\"", escaped(*twin)));
  }
  return placed;
}

json::JsonText entry_json(const OutputTensor& tensor, std::uint64_t begin, std::uint64_t end) {
  constexpr json::JsonLayout kLayout = json::JsonLayout::kCompact;
  return json::json_object(
      {{"dtype", tensor.dtype},
       {"shape", json::json_array_of(tensor.shape, json::json_integer, kLayout)},
       {"data_offsets",
        json::json_array({json::json_unsigned(begin), json::json_unsigned(end)}, kLayout)}},
      kLayout);
}

// transformers refuses files that do not say which framework wrote them.
json::JsonText metadata(const std::string& command) {
  std::vector<json::JsonMember> members = {{"format", "pt"}};
  if (!command.empty()) members.push_back({kWriterKey, command});
  return json::json_object(members, json::JsonLayout::kCompact);
}

std::string header_text(const std::filesystem::path& path, const std::vector<Placed>& placed,
                        const std::string& command) {
  constexpr std::size_t kAlignment = 8;
  constexpr json::JsonLayout kLayout = json::JsonLayout::kCompact;
  std::vector<json::JsonMember> members = {{"__metadata__", metadata(command)}};
  members.reserve(placed.size() + 1);
  std::uint64_t begin = 0;
  for (const Placed& p : placed) {
    const auto end = checked_add(begin, static_cast<std::uint64_t>(p.tensor->bytes));
    if (!end) throw output_error(path, "the tensors are more than 64 bits can count");
    members.push_back({p.tensor->name, entry_json(*p.tensor, begin, *end)});
    begin = *end;
  }
  std::string text = json::json_object(members, kLayout).text;
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  if (text.size() > kMaxHeaderBytes) {
    throw output_error(path, fmt::format("the header would have {} bytes, more than the {} that "
                                         "readers accept; write fewer tensors",
                                         text.size(), kMaxHeaderBytes));
  }
  return text;
}

}  // namespace

std::unique_ptr<AtomicFile> begin_safetensors(const std::filesystem::path& path,
                                              const std::vector<OutputTensor>& tensors,
                                              const WriteOptions& options) {
  const std::vector<Placed> placed = in_file_order(path, tensors);
  const std::string header = header_text(path, placed, options.command);
  std::array<std::byte, kHeaderLengthBytes> length = {};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::byte>(header.size() >> (8 * i));
  }
  remove_leftovers(path);
  auto file = std::make_unique<AtomicFile>(path, check_of(options, path));
  file->write(length);
  file->write(header);
  for (const Placed& p : placed) write_bytes(path, *p.tensor, *file);
  return file;
}

void write_safetensors(const std::filesystem::path& path, const std::vector<OutputTensor>& tensors,
                       const WriteOptions& options) {
  begin_safetensors(path, tensors, options)->commit();
}

void write_nf4_safetensors(const std::filesystem::path& path,
                           std::span<const nf4::Nf4Tensor> tensors, const WriteOptions& options) {
  std::vector<OutputTensor> entries;
  for (const nf4::Nf4Tensor& tensor : tensors) {
    std::ranges::move(state_dict_entries(tensor), std::back_inserter(entries));
  }
  write_safetensors(path, entries, options);
}

bool names_its_command(std::string_view beginning) {
  // As header_text() begins, which puts the metadata first.
  const std::string wanted = fmt::format(R"({{"__metadata__":{{"format":"pt","{}":")", kWriterKey);
  return beginning.size() > kHeaderLengthBytes &&
         beginning.substr(kHeaderLengthBytes).starts_with(wanted);
}

}  // namespace nf4bench::io
