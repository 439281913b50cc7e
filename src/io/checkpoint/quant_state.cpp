#include "io/checkpoint/quant_state.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "io/stored_tensors.hpp"
#include "json/json_events.hpp"
#include "json/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace nf4bench::io {
namespace {

struct Field {
  enum Number : std::size_t {
    kQuantType,
    kBlocksize,
    kDtype,
    kShape,
    kNestedBlocksize,
    kNestedDtype,
    kNestedOffset,
    kCount
  };
};

constexpr std::array<std::string_view, Field::kCount> kFieldNames = {
    "quant_type",       "blocksize",    "dtype",        "shape",
    "nested_blocksize", "nested_dtype", "nested_offset"};

// A value as it was read, not judged yet.
struct RawValue {
  json::JsonKind kind = json::JsonKind::kNull;
  std::uint64_t unsigned_value = 0;
  double number = 0;
  std::string text;
  std::string found;  // as messages show it

  explicit RawValue(const json::JsonEvent& event)
      : kind(event.kind),
        unsigned_value(event.unsigned_value),
        number(event.number),
        text(event.text),
        found(json::describe(event)) {}
};

// The blob's fields, by name, and the elements of `shape`.
struct RawState {
  std::array<std::optional<RawValue>, Field::kCount> fields;
  std::vector<RawValue> shape;
  std::vector<std::string> unknown;
};

RawState read_raw_state(std::string_view where, std::string_view text) {
  RawState state;
  std::size_t field = Field::kCount;
  json::read_json(where, text, [&](const json::JsonEvent& event) {
    if (event.depth == 0 && event.kind != json::JsonKind::kBeginObject &&
        event.kind != json::JsonKind::kEndObject) {
      throw input_error(where, "JSON text", json::describe(event), "an object");
    }
    if (event.depth == 1 && event.kind == json::JsonKind::kKey) {
      const auto name = std::ranges::find(kFieldNames, event.text);
      field = static_cast<std::size_t>(name - kFieldNames.begin());
      if (field == Field::kCount) state.unknown.emplace_back(event.text);
    } else if (event.depth == 1 && field != Field::kCount && !state.fields[field]) {
      state.fields[field].emplace(event);
    } else if (event.depth == 2 && field == Field::kShape &&
               state.fields[Field::kShape]->kind == json::JsonKind::kBeginArray &&
               state.shape.size() <= kMaxStoredRank) {
      state.shape.emplace_back(event);
    }
  });
  return state;
}

// Judges the raw values: each accessor returns a value, or throws when it is not what it should be.
class StateReader {
 public:
  StateReader(std::string_view where, const RawState& raw) : where_(where), raw_(raw) {}

  const std::string& string(Field::Number field) const {
    const RawValue& value = required(field, "a string");
    if (value.kind != json::JsonKind::kString) throw wrong(field, value.found, "a string");
    return value.text;
  }

  int blocksize() const {
    constexpr const char* kWanted = "a power of two from 32 to 4096";
    const RawValue& value = required(Field::kBlocksize, kWanted);
    if (value.kind != json::JsonKind::kUnsigned || value.unsigned_value > nf4::kMaxBlocksize ||
        !nf4::is_legal_blocksize(static_cast<std::int64_t>(value.unsigned_value))) {
      throw wrong(Field::kBlocksize, value.found, kWanted);
    }
    return static_cast<int>(value.unsigned_value);
  }

  nf4::OutputType dtype() const {
    const std::string& name = string(Field::kDtype);
    for (const nf4::OutputType type : nf4::kOutputTypes) {
      if (name == to_string(type)) return type;
    }
    throw wrong(Field::kDtype, required(Field::kDtype, "").found,
                R"("float16", "bfloat16" or "float32")");
  }

  std::vector<std::int64_t> shape() const {
    const std::string wanted = fmt::format("a list of 1 to {} positive integers", kMaxStoredRank);
    const RawValue& value = required(Field::kShape, wanted);
    if (value.kind != json::JsonKind::kBeginArray) throw wrong(Field::kShape, value.found, wanted);
    if (raw_.shape.empty()) throw wrong(Field::kShape, "an empty list", wanted);
    if (raw_.shape.size() > kMaxStoredRank) throw wrong(Field::kShape, "a longer list", wanted);
    std::vector<std::int64_t> shape;
    for (const RawValue& dimension : raw_.shape) {
      if (dimension.kind != json::JsonKind::kUnsigned || dimension.unsigned_value == 0 ||
          dimension.unsigned_value > static_cast<std::uint64_t>(kMaxElements)) {
        throw wrong(Field::kShape, dimension.found,
                    fmt::format("dimensions from 1 to {}", kMaxElements));
      }
      shape.push_back(static_cast<std::int64_t>(dimension.unsigned_value));
    }
    return shape;
  }

  bool has_nested() const {
    return raw_.fields[Field::kNestedBlocksize] || raw_.fields[Field::kNestedDtype] ||
           raw_.fields[Field::kNestedOffset];
  }

  void check_nested_kind() const {
    const RawValue& blocksize = required(Field::kNestedBlocksize, "256");
    if (blocksize.kind != json::JsonKind::kUnsigned ||
        blocksize.unsigned_value != nf4::kNestedBlocksize) {
      throw wrong(Field::kNestedBlocksize, blocksize.found,
                  "256, the only one bitsandbytes decodes");
    }
    if (string(Field::kNestedDtype) != "float32") {
      throw wrong(Field::kNestedDtype, required(Field::kNestedDtype, "").found, R"("float32")");
    }
  }

  float nested_offset() const {
    const RawValue& value = required(Field::kNestedOffset, "a number");
    const bool is_number = value.kind == json::JsonKind::kUnsigned ||
                           value.kind == json::JsonKind::kNegative ||
                           value.kind == json::JsonKind::kFloat;
    if (!is_number) throw wrong(Field::kNestedOffset, value.found, "a number");
    if (std::abs(value.number) > std::numeric_limits<float>::max()) {
      throw wrong(Field::kNestedOffset, value.found, "a number that a float32 can hold");
    }
    return static_cast<float>(value.number);  // exact: it was a float32 when it was printed
  }

 private:
  Error wrong(Field::Number field, std::string_view found, std::string_view wanted) const {
    return input_error(where_, kFieldNames[field], found, wanted);
  }

  const RawValue& required(Field::Number field, std::string_view wanted) const {
    if (!raw_.fields[field]) throw wrong(field, "nothing", wanted);
    return *raw_.fields[field];
  }

  std::string_view where_;
  const RawState& raw_;
};

std::int64_t product_of(std::string_view where, const std::vector<std::int64_t>& shape) {
  std::uint64_t elements = 1;
  for (const std::int64_t dimension : shape) {
    const auto product = checked_multiply(elements, static_cast<std::uint64_t>(dimension));
    if (!product || *product > static_cast<std::uint64_t>(kMaxElements)) {
      throw input_error(where, "shape", nf4::shape_to_string(shape),
                        fmt::format("at most {} elements", kMaxElements));
    }
    elements = *product;
  }
  return static_cast<std::int64_t>(elements);
}

}  // namespace

QuantState read_quant_state(std::string_view where, std::string_view text) {
  if (text.size() > kMaxQuantStateBytes) {
    throw input_error(where, "JSON text", fmt::format("{} bytes", text.size()),
                      fmt::format("at most {}", kMaxQuantStateBytes));
  }
  QuantState state;
  const std::size_t end = text.find_last_not_of('\0');
  if (end != std::string_view::npos && end + 1 < text.size()) {
    state.warnings.push_back(
        fmt::format("quant state: {} trailing NUL bytes ignored; bitsandbytes "
                    "itself refuses them",
                    text.size() - end - 1));
    text = text.substr(0, end + 1);
  }
  const RawState raw = read_raw_state(where, text);
  const StateReader reader(where, raw);
  state.quant_type = reader.string(Field::kQuantType);
  if (state.quant_type != "nf4") return state;
  state.blocksize = reader.blocksize();
  state.dtype = reader.dtype();
  state.shape = reader.shape();
  state.elements = product_of(where, state.shape);
  if (reader.has_nested()) {
    reader.check_nested_kind();
    state.absmax_kind = nf4::AbsmaxKind::kNested;
    state.nested_offset = reader.nested_offset();
  }
  if (!raw.unknown.empty()) {
    state.warnings.push_back(fmt::format("quant state: {} unknown fields ignored, the first is {}",
                                         raw.unknown.size(), in_quotes(raw.unknown.front())));
  }
  return state;
}

std::string write_quant_state(const nf4::Nf4Tensor& tensor) {
  std::vector<json::JsonMember> members = {{"quant_type", "nf4"},
                                           {"blocksize", tensor.blocksize},
                                           {"dtype", to_string(tensor.dtype)},
                                           {"shape", json::json_integers(tensor.shape)}};
  if (tensor.is_nested()) {
    members.push_back({"nested_blocksize", nf4::kNestedBlocksize});
    members.push_back({"nested_dtype", "float32"});
    members.push_back({"nested_offset", json::json_float(tensor.nested_offset)});
  }
  return json::json_object(members, json::JsonLayout::kOneLine).text;
}

}  // namespace nf4bench::io
