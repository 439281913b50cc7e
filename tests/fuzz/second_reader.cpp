#include "fuzz/second_reader.hpp"

#include "fuzz/checks.hpp"
#include "fuzz/strict_json.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>

namespace nf4bench::fuzz {
namespace {

using Kind = JsonValue::Kind;

constexpr int kMaxDepth = 127;  // containers in one another, as serde_json counts
constexpr Wide kMax64 = UINT64_MAX;

// Bits of an element of each type that safetensors defines.
const std::map<std::string, unsigned>& bits_of_types() {
  static const std::map<std::string, unsigned> bits = {
      {"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6},     {"F6_E3M2", 6}, {"U8", 8},
      {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},     {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"I16", 16}, {"U16", 16},    {"F8_E5M2FNUZ", 8}, {"F16", 16},    {"BF16", 16},
      {"I32", 32}, {"U32", 32},    {"F32", 32},        {"C64", 64},    {"F64", 64},
      {"I64", 64}, {"U64", 64}};
  return bits;
}

// A list of at most 32 unsigned integers.
std::optional<std::vector<std::uint64_t>> integers(const JsonValue* value) {
  if (value == nullptr || !value->is(Kind::kArray) || value->items.size() > 32) return {};
  std::vector<std::uint64_t> list;
  for (const JsonValue& item : value->items) {
    if (!item.is(Kind::kUnsigned)) return {};
    list.push_back(item.unsigned_value);
  }
  return list;
}

// Bytes of a tensor; empty when a product exceeds 64 bits, or when the bits do not fill whole
// bytes.
std::optional<std::uint64_t> byte_count(const std::vector<std::uint64_t>& shape, unsigned bits) {
  Wide product = 1;
  for (const std::uint64_t dimension : shape) {
    product *= dimension;
    if (product > kMax64) return {};
  }
  product *= bits;
  if (product > kMax64 || product % 8 != 0) return {};
  return static_cast<std::uint64_t>(product / 8);
}

std::optional<DeclaredTensor> tensor_of(const std::string& name, const JsonValue& entry,
                                        std::uint64_t data_begin, std::uint64_t file_size) {
  if (!entry.is(Kind::kObject)) return {};
  const JsonValue* dtype = entry.find("dtype");
  const auto shape = integers(entry.find("shape"));
  const auto offsets = integers(entry.find("data_offsets"));
  if (dtype == nullptr || !dtype->is(Kind::kString) || !shape || !offsets) return {};
  const auto bits = bits_of_types().find(dtype->text);
  if (bits == bits_of_types().end() || offsets->size() != 2) return {};
  const auto bytes = byte_count(*shape, bits->second);
  const Wide begin = Wide{data_begin} + offsets->at(0);
  const Wide end = Wide{data_begin} + offsets->at(1);
  if (!bytes || end > file_size || begin + *bytes != end) return {};
  return DeclaredTensor{name, dtype->text, *shape, static_cast<std::uint64_t>(begin),
                        static_cast<std::uint64_t>(end)};
}

bool is_metadata(const JsonValue& value) {
  if (value.is(Kind::kNull)) return true;
  return value.is(Kind::kObject) &&
         std::all_of(value.items.begin(), value.items.end(),
                     [](const JsonValue& item) { return item.is(Kind::kString); });
}

// Every byte from `begin` to `end` belongs to one tensor: removing each from the set of what is
// left, lowest first, leaves nothing.
bool cover(const std::vector<DeclaredTensor>& tensors, std::uint64_t begin, std::uint64_t end) {
  std::multimap<std::uint64_t, std::uint64_t> full;
  std::vector<std::uint64_t> edges = {end};
  for (const DeclaredTensor& tensor : tensors) {
    if (tensor.begin != tensor.end) full.emplace(tensor.begin, tensor.end);
  }
  std::uint64_t reached = begin;
  for (const auto& [from, to] : full) {
    if (from != reached) return false;
    edges.push_back(from);
    reached = to;
  }
  // An empty tensor lies at an edge, never inside another.
  return reached == end && std::all_of(tensors.begin(), tensors.end(), [&](const auto& tensor) {
           return tensor.begin != tensor.end ||
                  std::find(edges.begin(), edges.end(), tensor.begin) != edges.end();
         });
}

bool is_shard_name(std::string_view name) {
  constexpr std::string_view kEnding = ".safetensors";
  return name.size() > kEnding.size() && name.substr(name.size() - kEnding.size()) == kEnding &&
         std::none_of(name.begin(), name.end(),
                      [](char c) { return c == '/' || c == '\\' || c == '\0'; });
}

bool is_string(const JsonValue* value, std::string_view text) {
  return value != nullptr && value->is(Kind::kString) && value->text == text;
}

// The nested fields; empty when they are wrong.
std::optional<float> nested_offset_of(const JsonValue& root) {
  const JsonValue* blocksize = root.find("nested_blocksize");
  const JsonValue* offset = root.find("nested_offset");
  if (blocksize == nullptr || !blocksize->is(Kind::kUnsigned) || blocksize->unsigned_value != 256) {
    return {};
  }
  if (!is_string(root.find("nested_dtype"), "float32")) return {};
  if (offset == nullptr || (!offset->is(Kind::kUnsigned) && !offset->is(Kind::kNumber))) return {};
  if (std::fabs(offset->number) > FLT_MAX) return {};
  return static_cast<float>(offset->number);
}

}  // namespace

std::optional<std::vector<DeclaredTensor>> second_safetensors(std::string_view file) {
  if (file.size() < 8) return {};
  Wide length = 0;
  for (int i = 7; i >= 0; --i) {
    length = length * 256 + static_cast<unsigned char>(file[static_cast<std::size_t>(i)]);
  }
  if (length > 100'000'000 || length + 8 > file.size()) return {};
  const auto data_begin = static_cast<std::uint64_t>(length + 8);
  const auto root = parse_strict_json(file.substr(8, data_begin - 8), kMaxDepth);
  if (!root || !root->is(Kind::kObject)) return {};
  std::vector<DeclaredTensor> tensors;
  for (std::size_t i = 0; i < root->items.size(); ++i) {
    const std::string& name = root->names[i];
    const JsonValue& entry = root->items[i];
    if (name == "__metadata__") {
      if (!is_metadata(entry)) return {};
      continue;
    }
    auto tensor = tensor_of(name, entry, data_begin, file.size());
    if (!tensor) return {};
    tensors.push_back(std::move(*tensor));
  }
  if (!cover(tensors, data_begin, file.size())) return {};
  return tensors;
}

std::optional<std::vector<std::pair<std::string, std::string>>> second_index(
    std::string_view text) {
  const auto root = parse_strict_json(text, kMaxDepth);
  if (!root || !root->is(Kind::kObject)) return {};
  const JsonValue* map = root->find("weight_map");
  if (map == nullptr || !map->is(Kind::kObject)) return {};
  std::vector<std::pair<std::string, std::string>> entries;
  for (std::size_t i = 0; i < map->items.size(); ++i) {
    const JsonValue& shard = map->items[i];
    if (!shard.is(Kind::kString) || !is_shard_name(shard.text)) return {};
    entries.emplace_back(map->names[i], shard.text);
  }
  return entries;
}

std::optional<DeclaredState> second_quant_state(std::string_view text) {
  if (text.size() > 65536) return {};
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  const auto root = parse_strict_json(text, kMaxDepth);
  if (!root || !root->is(Kind::kObject)) return {};
  const JsonValue* type = root->find("quant_type");
  if (type == nullptr || !type->is(Kind::kString)) return {};
  DeclaredState state;
  state.quant_type = type->text;
  if (state.quant_type != "nf4") return state;
  const JsonValue* blocksize = root->find("blocksize");
  const JsonValue* dtype = root->find("dtype");
  const auto shape = integers(root->find("shape"));
  if (blocksize == nullptr || !blocksize->is(Kind::kUnsigned) || !shape || shape->empty())
    return {};
  for (std::uint64_t legal = 32; legal <= 4096; legal *= 2) {
    if (blocksize->unsigned_value == legal) state.blocksize = legal;
  }
  for (const char* legal : {"float16", "bfloat16", "float32"}) {
    if (is_string(dtype, legal)) state.dtype = legal;
  }
  Wide elements = 1;
  for (const std::uint64_t dimension : *shape) {
    elements *= dimension;
    if (elements == 0 || elements > Wide{1} << 40) return {};
  }
  if (state.blocksize == 0 || state.dtype.empty()) return {};
  state.shape = *shape;
  if (root->find("nested_blocksize") != nullptr || root->find("nested_dtype") != nullptr ||
      root->find("nested_offset") != nullptr) {
    state.nested_offset = nested_offset_of(*root);
    if (!state.nested_offset) return {};
  }
  return state;
}

}  // namespace nf4bench::fuzz
