#include "io/checkpoint/expert_stack.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/byte_source.hpp"
#include "json/json_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace nf4bench::io {
namespace {

bool is_matrix(const StoredTensor& tensor, ElementType type) {
  return tensor.type == type && tensor.shape.size() == 2 && tensor.shape[0] > 0 &&
         tensor.shape[1] > 0;
}

std::string layout(const StoredTensor& tensor) {
  return fmt::format("{} {}", facts(tensor.type).spelling, dimensions_to_string(tensor.shape));
}

// How many values of an expert share a scale. Blocks do not reach from one expert into the next, so
// that the scales of a stack are those of one long weight only when blocks fill each expert.
int stack_blocksize(std::string_view where, std::uint64_t values, std::uint64_t scales) {
  const std::uint64_t blocksize = values / scales;
  if (values % scales == 0 && blocksize <= nf4::kMaxBlocksize &&
      nf4::is_legal_blocksize(static_cast<std::int64_t>(blocksize))) {
    return static_cast<int>(blocksize);
  }
  throw input_error(where, "absmax",
                    fmt::format("{} scales for the {} values of an expert", scales, values),
                    "one for each 32, 64, 128, ... or 4096 of them");
}

// What follows the last dot of a name: "gate_up_proj".
std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

// What to give on the command line for `weight`.
std::string shape_option(const StoredTensor& weight) {
  return fmt::format("{} {}=NxK, the outputs and inputs of an expert", kShapeOption,
                     escaped(last_part(weight.name)));
}

// The shape of `weight`, whose experts have `values` values each.
const StackShape& find_shape(std::string_view where, const StoredTensor& weight,
                             const StackShapes& known) {
  const std::uint64_t experts = weight.shape[0];
  const std::uint64_t values = 2 * weight.shape[1];
  const auto found =
      std::ranges::find_if(known.shapes, [&](const StackShape& s) { return s.names(weight.name); });
  if (found == known.shapes.end()) {
    const std::string lack = known.config_gap.empty()
                                 ? " and no quant state"
                                 : ", no quant state and a config.json that " + known.config_gap;
    throw input_error(
        where, "shape",
        fmt::format("a stack of {} experts with {} values each{}", experts, values, lack),
        shape_option(weight));
  }
  const std::string instead = found->source == kShapeOption ? "" : "; or " + shape_option(weight);
  const auto product = checked_multiply(static_cast<std::uint64_t>(found->outputs),
                                        static_cast<std::uint64_t>(found->inputs));
  if (!product || *product != values) {
    throw input_error(where, found->source, fmt::format("{}x{}", found->outputs, found->inputs),
                      fmt::format("two numbers whose product is {}{}", values, instead));
  }
  if (found->experts != 0 && static_cast<std::uint64_t>(found->experts) != experts) {
    throw input_error(where, found->source, fmt::format("{} experts", found->experts),
                      fmt::format("{}{}", experts, instead));
  }
  return *found;
}

constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{16} << 20;
constexpr std::int64_t kMaxSize = std::int64_t{1} << 30;

// A model with dense layers too gives those the plain name, so the other one comes first.
constexpr std::array<std::string_view, 2> kIntermediate = {"moe_intermediate_size",
                                                           "intermediate_size"};
constexpr std::array<std::string_view, 3> kExperts = {"num_experts", "num_local_experts",
                                                      "n_routed_experts"};

constexpr std::array<std::string_view, 4> kTopK = {"num_experts_per_tok", "num_experts_per_token",
                                                   "experts_per_token", "moe_topk"};

// Models whose experts are x W and not x W^T: [experts, inputs, outputs].
constexpr std::array<std::string_view, 3> kTransposed = {"gpt_oss", "llama4", "llama4_text"};

// The fields of one object: integers, and the type of the model.
struct Fields {
  std::map<std::string, std::uint64_t, std::less<>> numbers;
  std::string model_type;
  std::string activation;
};

// What a config says of the model, and what it says of the language model in it, if it has others.
struct Config {
  Fields model;
  Fields text;

  const Fields& language_model() const { return text.numbers.empty() ? model : text; }
};

Config read_config(std::string_view where, std::string_view text) {
  Config config;
  bool is_in_text = false;
  std::string key;
  json::read_json(where, text, [&](const json::JsonEvent& event) {
    if (event.depth == 0 && event.kind != json::JsonKind::kBeginObject &&
        event.kind != json::JsonKind::kEndObject) {
      throw input_error(where, "JSON text", json::describe(event), "an object");
    }
    if (event.depth < 1 || event.depth > 2) return;
    if (event.kind == json::JsonKind::kKey) {
      key = event.text;
      if (event.depth == 1) is_in_text = key == "text_config";
      return;
    }
    if (event.depth == 2 && !is_in_text) return;
    Fields& fields = event.depth == 1 ? config.model : config.text;
    if (event.kind == json::JsonKind::kUnsigned) fields.numbers[key] = event.unsigned_value;
    if (event.kind != json::JsonKind::kString) return;
    if (key == "model_type") fields.model_type = event.text;
    if (key == "hidden_act" || key == "hidden_activation") fields.activation = event.text;
  });
  return config;
}

// The first of `names` that is there, in 1 to 2^30; else 0.
template <std::size_t kNames>
std::int64_t first_of(const Fields& fields, const std::array<std::string_view, kNames>& names) {
  for (const std::string_view name : names) {
    const auto found = fields.numbers.find(name);
    if (found == fields.numbers.end()) continue;
    return found->second <= kMaxSize ? static_cast<std::int64_t>(found->second) : 0;
  }
  return 0;
}

bool keeps_transposed(const Fields& fields) {
  return std::ranges::find(kTransposed, fields.model_type) != kTransposed.end();
}

// What keeps `fields` from implying the shapes; empty when nothing does.
std::string gap_of(const Fields& fields) {
  if (keeps_transposed(fields)) {
    return fmt::format("is of a {} model, which keeps its experts transposed", fields.model_type);
  }
  if (first_of(fields, std::array{std::string_view("hidden_size")}) == 0) {
    return "has no usable hidden_size";
  }
  if (first_of(fields, kIntermediate) == 0) {
    return "has neither a usable moe_intermediate_size nor intermediate_size";
  }
  if (first_of(fields, kExperts) == 0) return "has no usable num_experts";
  return "";
}

std::string read_text(const std::filesystem::path& path) {
  const ByteSource source = ByteSource::open(path);
  if (source.size() > kMaxConfigBytes) {
    throw input_error(source.name(), "size", fmt::format("{} bytes", source.size()),
                      fmt::format("at most {}", kMaxConfigBytes));
  }
  return source.read_text(0, source.size());
}

}  // namespace

bool StackShape::names(std::string_view tensor) const {
  if (!tensor.ends_with(name)) return false;
  const std::size_t before = tensor.size() - name.size();
  return before == 0 || tensor[before - 1] == '.';
}

QuantState stack_state(std::string_view where, const StoredTensor& weight,
                       const StoredTensor& absmax, nf4::AbsmaxKind kind, const StackShapes& known) {
  const ElementType scales =
      kind == nf4::AbsmaxKind::kNested ? ElementType::kU8 : ElementType::kF32;
  if (!is_matrix(weight, ElementType::kU8) || !is_matrix(absmax, scales) ||
      weight.shape[0] != absmax.shape[0] ||
      weight.bytes > static_cast<std::uint64_t>(kMaxElements) / 2) {
    throw input_error(where, "expert stack", layout(weight) + " beside absmax " + layout(absmax),
                      fmt::format("U8 [experts, N*K/2] beside {} [experts, N*K/blocksize]",
                                  facts(scales).spelling));
  }
  const std::uint64_t experts = weight.shape[0];
  const std::uint64_t values = 2 * weight.shape[1];
  QuantState state;
  state.quant_type = "nf4";
  state.absmax_kind = kind;
  state.blocksize = stack_blocksize(where, values, absmax.shape[1]);
  const StackShape& shape = find_shape(where, weight, known);
  state.shape = {static_cast<std::int64_t>(experts), shape.outputs, shape.inputs};
  state.elements = static_cast<std::int64_t>(experts * values);
  return state;
}

void add_config_shapes(const std::filesystem::path& config, StackShapes& shapes) {
  Fields fields;
  try {
    fields = read_config("config.json", read_text(config)).language_model();
  } catch (const Error& error) {
    shapes.config_gap = fmt::format("cannot be read ({})", error.what());
    return;
  }
  shapes.config_gap = gap_of(fields);
  if (!shapes.config_gap.empty()) return;
  const std::int64_t hidden = first_of(fields, std::array{std::string_view("hidden_size")});
  const std::int64_t intermediate = first_of(fields, kIntermediate);
  const std::int64_t experts = first_of(fields, kExperts);
  const auto add = [&](const char* name, std::int64_t outputs, std::int64_t inputs) {
    shapes.shapes.push_back({.name = name,
                             .outputs = outputs,
                             .inputs = inputs,
                             .experts = experts,
                             .source = "config.json"});
  };
  add("gate_up_proj", 2 * intermediate, hidden);
  add("down_proj", hidden, intermediate);
  shapes.config_gap = "implies gate_up_proj and down_proj alone";
}

ModelExperts model_experts(const std::filesystem::path& config) {
  try {
    const Fields fields = read_config("config.json", read_text(config)).language_model();
    return {.top_k = first_of(fields, kTopK),
            .activation = fields.activation,
            .model_type = fields.model_type,
            .transposed = keeps_transposed(fields)};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace nf4bench::io
