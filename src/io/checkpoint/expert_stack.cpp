#include "io/checkpoint/expert_stack.hpp"

#include "base/checked.hpp"
#include "base/input_error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

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
  const auto found = std::find_if(known.shapes.begin(), known.shapes.end(),
                                  [&](const StackShape& s) { return s.names(weight.name); });
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

}  // namespace

bool StackShape::names(std::string_view tensor) const {
  if (!tensor.ends_with(name)) return false;
  const std::size_t before = tensor.size() - name.size();
  return before == 0 || tensor[before - 1] == '.';
}

QuantState stack_state(std::string_view where, const StoredTensor& weight,
                       const StoredTensor& absmax, const StackShapes& known) {
  if (!is_matrix(weight, ElementType::kU8) || !is_matrix(absmax, ElementType::kF32) ||
      weight.shape[0] != absmax.shape[0] ||
      weight.bytes > static_cast<std::uint64_t>(kMaxElements) / 2) {
    throw input_error(where, "expert stack", layout(weight) + " beside absmax " + layout(absmax),
                      "U8 [experts, N*K/2] beside F32 [experts, N*K/blocksize]");
  }
  const std::uint64_t experts = weight.shape[0];
  const std::uint64_t values = 2 * weight.shape[1];
  QuantState state;
  state.quant_type = "nf4";
  state.blocksize = stack_blocksize(where, values, absmax.shape[1]);
  const StackShape& shape = find_shape(where, weight, known);
  state.shape = {static_cast<std::int64_t>(experts), shape.outputs, shape.inputs};
  state.elements = static_cast<std::int64_t>(experts * values);
  return state;
}

}  // namespace nf4bench::io
