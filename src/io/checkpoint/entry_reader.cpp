#include "io/checkpoint/entry_reader.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "nf4/arithmetic.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

namespace nf4bench::io {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian, like us");

template <typename T>
std::vector<T> values_of(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

std::string_view field_of(Piece piece) {
  if (piece == Piece::kWeight) return "packed weight";
  if (piece == Piece::kStateNf4 || piece == Piece::kStateFp4 || piece == Piece::kStateJson) {
    return "quant_state";
  }
  return suffix_of(piece).substr(1);
}

std::string layout(ElementType type, std::span<const std::uint64_t> shape) {
  return fmt::format("{} {}", facts(type).spelling, dimensions_to_string(shape));
}

std::optional<StorageType> storage_of(ElementType type) {
  switch (type) {
    case ElementType::kU8:
      return StorageType::kUint8;
    case ElementType::kBf16:
      return StorageType::kBfloat16;
    case ElementType::kF16:
      return StorageType::kFloat16;
    case ElementType::kF32:
      return StorageType::kFloat32;
    default:
      return std::nullopt;
  }
}

// The index of the first value that differs from the codebook. Values stored in 16 bits are
// compared with the codebook rounded to 16 bits.
template <typename T, typename Encode>
std::optional<int> first_foreign(const std::string& bytes, Encode encode) {
  const std::vector<T> values = values_of<T>(bytes);
  for (int code = 0; code < nf4::kCodes; ++code) {
    if (values[static_cast<std::size_t>(code)] != encode(nf4::codebook_value(code))) return code;
  }
  return std::nullopt;
}

// What the state says of the tensor.
void adopt(QuantState& state, TensorEntry& entry) {
  entry.shape = std::move(state.shape);
  entry.elements = state.elements;
  entry.blocksize = state.blocksize;
  entry.absmax_kind = state.absmax_kind;
  entry.dtype = state.dtype;
  entry.packed_bytes = nf4::packed_bytes(state.elements);
  entry.warnings = std::move(state.warnings);
}

}  // namespace

JudgedEntry EntryReader::read(const TensorGroup& group) {
  JudgedEntry judged;
  TensorEntry& entry = judged.entry;
  entry.name = group.name;
  entry.is_expert_stack = group.is_stack;
  std::optional<std::size_t> home = group[Piece::kWeight];
  for (const auto& number : group.pieces) {
    if (!home) home = number;
  }
  const InputFile& file = inventory_.files[inventory_.tensors[*home].file];
  entry.source = file.path.native();
  source_ = entry.source;
  name_ = group.name;
  try {
    judge(group, judged);
  } catch (const Error& error) {
    entry.problem = error.what();
  }
  return judged;
}

std::string EntryReader::where() const {
  return fmt::format("{}: tensor {}", escaped(source_), in_quotes(name_));
}

void EntryReader::judge(const TensorGroup& group, JudgedEntry& judged) {
  TensorEntry& entry = judged.entry;
  if (group.is_stack) return judge_stack(group, judged);
  const Piece piece = state_piece(group);
  QuantState state = read_state(group);
  judged.quant_type = state.quant_type;
  const std::string_view wanted = piece == Piece::kStateFp4 ? "fp4" : "nf4";
  if (state.quant_type != wanted && !(piece == Piece::kStateJson && state.quant_type == "fp4")) {
    throw input_error(where(), "quant_type", in_quotes(state.quant_type),
                      fmt::format("\"{}\", as {} says", wanted, suffix_of(piece).substr(1)));
  }
  if (state.quant_type != "nf4") return;
  adopt(state, entry);
  judged.nested_offset = state.nested_offset;
  judge_weight(required(group, Piece::kWeight), entry);
  judge_absmax(group, entry);
  judge_quant_map(required(group, Piece::kQuantMap));
  judge_nested(group, entry);
  sum_state_bytes(group, entry);
}

void EntryReader::judge_stack(const TensorGroup& group, JudgedEntry& judged) {
  const StoredTensor absmax = required(group, Piece::kAbsmax);
  const nf4::AbsmaxKind kind =
      absmax.name.ends_with("_absmax") ? nf4::AbsmaxKind::kPlain : nf4::AbsmaxKind::kNested;
  QuantState state = stack_state(where(), required(group, Piece::kWeight), absmax, kind, shapes_);
  adopt(state, judged.entry);
  judged.entry.storage = StorageType::kUint8;
  judge_nested(group, judged.entry);
  if (kind == nf4::AbsmaxKind::kNested) judged.nested_offset = stack_offset(group);
  sum_state_bytes(group, judged.entry);
}

float EntryReader::stack_offset(const TensorGroup& group) {
  const StoredTensor offset =
      required(group.stack_offset, "nested_offset", name_of_stack_offset(group));
  if (offset.type != ElementType::kF32 || offset.bytes != sizeof(float)) {
    throw input_error(where(), "nested_offset", layout(offset.type, offset.shape), "F32 [1]");
  }
  const float value = values_of<float>(read_bytes(offset)).front();
  if (!std::isfinite(value)) {
    throw input_error(where(), "nested_offset", fmt::format("{}", value), "a finite value");
  }
  return value;
}

void EntryReader::sum_state_bytes(const TensorGroup& group, TensorEntry& entry) const {
  for (const Piece side :
       {Piece::kAbsmax, Piece::kQuantMap, Piece::kNestedAbsmax, Piece::kNestedQuantMap}) {
    if (const auto& number = group[side]) {
      entry.state_bytes += static_cast<std::int64_t>(inventory_.tensors[*number].bytes);
    }
  }
}

Piece EntryReader::state_piece(const TensorGroup& group) const {
  std::vector<Piece> found;
  for (const Piece piece : {Piece::kStateNf4, Piece::kStateFp4, Piece::kStateJson}) {
    if (group[piece]) found.push_back(piece);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    const bool is_dump = source_.ends_with(".npy") || source_.ends_with(".npz");
    throw input_error(where(), "quant_state", "nothing",
                      is_dump
                          ? fmt::format("{}{}, which says "
                                        R"({{"quant_type": "nf4", "blocksize": 64, )"
                                        R"("dtype": "bfloat16", "shape": [OUT, IN]}})",
                                        escaped(group.name), suffix_of(Piece::kStateJson))
                          : fmt::format("{}{}", escaped(group.name), suffix_of(Piece::kStateNf4)));
  }
  throw input_error(
      where(), "quant_state",
      fmt::format("both {} and {}", suffix_of(found[0]).substr(1), suffix_of(found[1]).substr(1)),
      "one");
}

QuantState EntryReader::read_state(const TensorGroup& group) {
  const StoredTensor tensor = required(group, state_piece(group));
  if (tensor.type != ElementType::kU8) {
    throw input_error(where(), "quant_state", layout(tensor.type, tensor.shape), "U8 (JSON text)");
  }
  if (tensor.bytes > kMaxQuantStateBytes) {
    throw input_error(where(), "quant_state", fmt::format("{} bytes", tensor.bytes),
                      fmt::format("at most {}", kMaxQuantStateBytes));
  }
  const std::string bytes = read_bytes(tensor);
  try {
    return read_quant_state("quant_state", bytes);
  } catch (const Error& error) {
    throw Error(ErrorKind::kInput, "{}: {}", where(), error.what());
  }
}

void EntryReader::judge_weight(const StoredTensor& weight, TensorEntry& entry) const {
  const auto storage = storage_of(weight.type);
  if (!storage) {
    throw input_error(where(), "packed weight", layout(weight.type, weight.shape),
                      "U8, BF16, F16 or F32");
  }
  const auto wanted = static_cast<std::uint64_t>(entry.packed_bytes);
  const std::uint64_t element_bytes = facts(weight.type).bits / 8;
  // The weight may be padded up to a whole element, but not by more.
  if (weight.bytes >= wanted && weight.bytes - wanted < element_bytes) {
    entry.storage = storage;
    return;
  }
  const bool lost_tail = weight.bytes < wanted && wanted - weight.bytes < element_bytes;
  throw input_error(
      where(), "packed weight",
      fmt::format("{} bytes ({})", weight.bytes, layout(weight.type, weight.shape)),
      fmt::format("{} for shape {}{}", wanted, nf4::shape_to_string(entry.shape),
                  lost_tail ? "; the tail was lost when it was stored as wider elements" : ""));
}

void EntryReader::judge_absmax(const TensorGroup& group, const TensorEntry& entry) const {
  const StoredTensor absmax = required(group, Piece::kAbsmax);
  const bool is_nested = entry.absmax_kind == nf4::AbsmaxKind::kNested;
  if (is_nested && absmax.type == ElementType::kF32) {
    throw input_error(where(), "absmax", "F32 beside a nested quant state",
                      "U8 codes, or a quant state without nested_ fields");
  }
  if (!is_nested && absmax.type == ElementType::kU8) {
    throw input_error(where(), "absmax", "U8 codes beside a quant state without nested_ fields",
                      "F32, or nested_blocksize, nested_dtype and nested_offset (of --raw: "
                      "nested_absmax=, nested_map= and offset=)");
  }
  require_layout(Piece::kAbsmax, absmax, is_nested ? ElementType::kU8 : ElementType::kF32,
                 nf4::block_count(entry.elements, entry.blocksize));
}

// bitsandbytes decodes with its own table, whatever the file says. So it would misread a file that
// has another table.
void EntryReader::judge_quant_map(const StoredTensor& map) {
  const bool is_float = map.type == ElementType::kF32 || map.type == ElementType::kF16 ||
                        map.type == ElementType::kBf16;
  if (!is_float || map.shape.size() != 1 || map.shape[0] != nf4::kCodes) {
    throw input_error(where(), "quant_map", layout(map.type, map.shape), "F32 [16] (or BF16, F16)");
  }
  const std::string bytes = read_bytes(map);
  const std::optional<int> foreign =
      map.type == ElementType::kF32   ? first_foreign<std::uint32_t>(bytes, nf4::bits_of)
      : map.type == ElementType::kF16 ? first_foreign<std::uint16_t>(bytes, nf4::to_float16_bits)
                                      : first_foreign<std::uint16_t>(bytes, nf4::to_bfloat16_bits);
  if (!foreign) return;
  const auto code = static_cast<std::size_t>(*foreign);
  const std::string found = map.type == ElementType::kF32
                                ? fmt::format("{}", values_of<float>(bytes)[code])
                                : fmt::format("{:#06x}", values_of<std::uint16_t>(bytes)[code]);
  throw input_error(where(), "quant_map", fmt::format("{} at code {}", found, code),
                    fmt::format("the NF4 table, {} there", nf4::codebook_value(*foreign)));
}

void EntryReader::judge_nested(const TensorGroup& group, TensorEntry& entry) {
  if (entry.absmax_kind == nf4::AbsmaxKind::kPlain) {
    for (const Piece piece : {Piece::kNestedAbsmax, Piece::kNestedQuantMap}) {
      if (group[piece]) {
        entry.warnings.push_back(fmt::format(
            "{} is there, but the quant state is not nested; ignored", field_of(piece)));
      }
    }
    return;
  }
  const std::int64_t blocks = nf4::block_count(entry.elements, entry.blocksize);
  require_layout(Piece::kNestedAbsmax, required(group, Piece::kNestedAbsmax), ElementType::kF32,
                 nf4::block_count(blocks, nf4::kNestedBlocksize));
  judge_nested_map(required(group, Piece::kNestedQuantMap), entry);
}

void EntryReader::judge_nested_map(const StoredTensor& map, TensorEntry& entry) {
  require_layout(Piece::kNestedQuantMap, map, ElementType::kF32, nf4::kNestedMapEntries);
  const std::string bytes = read_bytes(map);
  if (bytes == sound_map_) return;  // all tensors of a model have the same one
  const std::vector<float> values = values_of<float>(bytes);
  bool is_ascending = true;
  bool is_within_one = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw input_error(where(), "nested_quant_map", fmt::format("{} at code {}", values[i], i),
                        "finite values");
    }
    is_ascending = is_ascending && (i == 0 || values[i - 1] < values[i]);
    is_within_one = is_within_one && std::abs(values[i]) <= 1.0f;
  }
  if (!is_ascending) entry.warnings.emplace_back("nested_quant_map is not ascending");
  if (!is_within_one) entry.warnings.emplace_back("nested_quant_map has values outside [-1, 1]");
  if (is_ascending && is_within_one) sound_map_ = bytes;
}

StoredTensor EntryReader::required(const TensorGroup& group, Piece piece) const {
  return required(group[piece], field_of(piece), name_of(group, piece));
}

StoredTensor EntryReader::required(const std::optional<std::size_t>& number, std::string_view field,
                                   const std::string& name) const {
  if (!number) {
    throw input_error(where(), field, "nothing", fmt::format("a tensor {}", escaped(name)));
  }
  if (const auto damaged = inventory_.unreadable.find(*number);
      damaged != inventory_.unreadable.end()) {
    throw input_error(where(), fmt::format("{} cannot be read: {}", field, damaged->second));
  }
  return inventory_.tensors[*number];
}

void EntryReader::require_layout(Piece piece, const StoredTensor& tensor, ElementType type,
                                 std::int64_t length) const {
  if (tensor.type == type && tensor.shape.size() == 1 &&
      tensor.shape[0] == static_cast<std::uint64_t>(length)) {
    return;
  }
  throw input_error(where(), field_of(piece), layout(tensor.type, tensor.shape),
                    fmt::format("{} [{}]", facts(type).spelling, length));
}

std::string EntryReader::read_bytes(const StoredTensor& tensor) {
  return files_[tensor.file].read_text(tensor.begin, tensor.bytes);
}

}  // namespace nf4bench::io
