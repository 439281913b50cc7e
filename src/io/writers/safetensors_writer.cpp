#include "base/atomic_file.hpp"
#include "base/checked.hpp"
#include "base/text.hpp"
#include "io/safetensors/safetensors_header.hpp"
#include "io/writers/output_check.hpp"
#include "io/writers/state_dict.hpp"
#include "io/writers/writers.hpp"
#include "json/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <tuple>

namespace nf4bench::io {
namespace {

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
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return a.type != b.type ? a.type > b.type : a.tensor->name < b.tensor->name;
  });
  std::vector<std::string_view> names;
  names.reserve(placed.size());
  for (const Placed& p : placed) names.emplace_back(p.tensor->name);
  std::sort(names.begin(), names.end());
  if (const auto twin = std::adjacent_find(names.begin(), names.end()); twin != names.end()) {
    throw output_error(path, fmt::format("two tensors are called \"{}\"", escaped(*twin)));
  }
  return placed;
}

json::JsonText entry_json(const OutputTensor& tensor, std::uint64_t begin, std::uint64_t end) {
  constexpr json::JsonLayout kLayout = json::JsonLayout::kCompact;
  return json::json_object(
      {{"dtype", json::json_string(tensor.dtype)},
       {"shape", json::json_array_of(tensor.shape, json::json_integer, kLayout)},
       {"data_offsets",
        json::json_array({json::json_unsigned(begin), json::json_unsigned(end)}, kLayout)}},
      kLayout);
}

std::string header_text(const std::filesystem::path& path, const std::vector<Placed>& placed) {
  constexpr std::size_t kAlignment = 8;
  constexpr json::JsonLayout kLayout = json::JsonLayout::kCompact;
  // transformers refuses files that do not say which framework wrote them.
  std::vector<json::JsonMember> members = {
      {"__metadata__", json::json_object({{"format", json::json_string("pt")}}, kLayout)}};
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

void write_safetensors(const std::filesystem::path& path,
                       const std::vector<OutputTensor>& tensors) {
  const std::vector<Placed> placed = in_file_order(path, tensors);
  const std::string header = header_text(path, placed);
  std::array<std::byte, 8> length = {};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::byte>(header.size() >> (8 * i));
  }
  remove_leftovers(path);
  AtomicFile file(path);
  file.write(length);
  file.write(header);
  for (const Placed& p : placed) file.write(produced_bytes(path, *p.tensor));
  file.commit();
}

void write_nf4_safetensors(const std::filesystem::path& path,
                           std::span<const nf4::Nf4Tensor> tensors) {
  std::vector<OutputTensor> entries;
  for (const nf4::Nf4Tensor& tensor : tensors) {
    std::ranges::move(state_dict_entries(tensor), std::back_inserter(entries));
  }
  write_safetensors(path, entries);
}

}  // namespace nf4bench::io
