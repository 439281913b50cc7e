#include "plan/layers.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "layer.hpp"
#include "nf4/matrices.hpp"
#include "operation/weight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace nf4bench::plan {
namespace {

using record::StackPart;

// What the stacks of a layer are called, the first and the second.
constexpr std::pair<std::string_view, std::string_view> kStackWords[] = {
    {"gate_up", "down"}, {"up_proj", "down_proj"}, {"w13", "w2"}};

// The name of the stack that belongs to one of this name; empty when nobody can tell.
std::string name_of_second(const std::string& first) {
  for (const auto& [word, other] : kStackWords) {
    const std::size_t at = first.rfind(word);
    if (at != std::string::npos) return std::string(first).replace(at, word.size(), other);
  }
  return "";
}

// "model.layers.0.mlp.experts" of its gate_up_proj.
std::string name_of_layer(const std::string& first) {
  for (const auto& [word, other] : kStackWords) {
    const std::size_t at = first.rfind(word);
    if (at == std::string::npos) continue;
    const std::size_t end = first.find_last_not_of(". ", at == 0 ? 0 : at - 1);
    if (at > 0 && end != std::string::npos) return first.substr(0, end + 1);
  }
  return first;
}

record::Activation activation_of(const TensorSource& first, const record::RunOptions& options) {
  const record::Activation own = first.activation.value_or(record::Activation::kSilu);
  return options.activation.value_or(own);
}

// Outputs of the first product for each column of the layer.
std::int64_t outputs_per_column(record::Activation activation) {
  return kernels::outputs_per_column(static_cast<kernels::ActivationKind>(activation));
}

// Outputs and inputs of a stack's matrices.
struct MatrixSize {
  std::int64_t outputs;
  std::int64_t inputs;

  explicit MatrixSize(const TensorSource& stack)
      : outputs(stack.geometry.shape[1]), inputs(stack.geometry.shape[2]) {
    if (stack.geometry.stack->transposed) std::swap(outputs, inputs);
  }
};

void require_whole_stacks(const TensorSource& layer) {
  const record::Geometry& geometry = layer.geometry;
  const operation::WeightSize size = {.shape = geometry.shape,
                                      .blocksize = geometry.blocksize,
                                      .absmax_kind = geometry.absmax_kind,
                                      .stack = geometry.stack};
  if (kernels::has_whole_stacks(operation::problem_of(size, layer.dtype))) return;
  throw Error(
      ErrorKind::kUsage,
      "--part layer: the second stack of \"{}\" would not begin with a block of {}{}; wanted other "
      "sizes{}",
      escaped(layer.name), geometry.blocksize,
      layer.geometry.absmax_kind == nf4::AbsmaxKind::kNested ? " and a group of 256 of them" : "",
      layer.geometry.absmax_kind == nf4::AbsmaxKind::kNested ? ", or --plain" : "");
}

[[noreturn]] void fail_to_fit(const TensorSource& first, const std::string& second,
                              record::Activation activation) {
  throw Error(
      ErrorKind::kUsage,
      "--part layer: \"{}\" [{}] and {} make no layer with {}; wanted [E, {}, H] and [E, H, I]",
      escaped(first.name), nf4::shape_to_string(first.geometry.shape), second,
      to_string(activation), outputs_per_column(activation) == 2 ? "2 I" : "I");
}

// `first` as a layer with so many columns, yet without data.
TensorSource layer_of(const TensorSource& first, std::int64_t columns,
                      record::Activation activation) {
  const std::vector<std::int64_t> whole = {first.geometry.shape[0],
                                           (outputs_per_column(activation) + 1) * columns,
                                           MatrixSize(first).inputs};
  TensorSource layer = first.with_shape ? first.with_shape(whole) : first;
  layer.name = name_of_layer(first.name);
  layer.for_stacks = first.for_stacks;
  layer.geometry.shape = whole;
  layer.geometry.stack = first.geometry.stack;
  layer.geometry.stack->part = StackPart::kLayer;
  layer.geometry.stack->activation = activation;
  return layer;
}

// Of a preset or --shape: the outputs of the first product say how many columns there are, which
// models have two of each.
TensorSource synthetic_layer(const TensorSource& first, record::Activation activation) {
  const std::int64_t outputs = MatrixSize(first).outputs;
  const std::int64_t each = first.for_stacks ? 2 : outputs_per_column(activation);
  if (outputs % each != 0) fail_to_fit(first, "what follows from it", activation);
  return layer_of(first, outputs / each, activation);
}

TensorSource joined_layer(const TensorSource& first, const TensorSource& second,
                          record::Activation activation) {
  const MatrixSize up(first);
  const MatrixSize down(second);
  const bool fits = second.geometry.shape[0] == first.geometry.shape[0] &&
                    down.outputs == up.inputs &&
                    outputs_per_column(activation) * down.inputs == up.outputs &&
                    first.geometry.blocksize == second.geometry.blocksize;
  if (!fits) {
    fail_to_fit(first,
                fmt::format("\"{}\" [{}]", escaped(second.name),
                            nf4::shape_to_string(second.geometry.shape)),
                activation);
  }
  TensorSource layer = layer_of(first, down.inputs, activation);
  layer.geometry.absmax_kind = nf4::AbsmaxKind::kPlain;
  layer.load = [name = layer.name, shape = layer.geometry.shape, of_first = first.load,
                of_second = second.load] {
    nf4::Nf4Tensor whole = of_first();
    nf4::make_plain(whole);
    nf4::append(whole, of_second());
    whole.name = name;
    whole.shape = shape;
    return whole;
  };
  return layer;
}

}  // namespace

std::vector<TensorSource> whole_layers(const std::vector<TensorSource>& stacks,
                                       const record::RunOptions& options) {
  std::vector<TensorSource> layers;
  for (const TensorSource& first : stacks) {
    if (first.geometry.stack->part != StackPart::kGateUp) continue;
    const record::Activation activation = activation_of(first, options);
    if (first.with_shape) {
      layers.push_back(synthetic_layer(first, activation));
    } else {
      const std::string name = name_of_second(first.name);
      const auto second = std::ranges::find(stacks, name, &TensorSource::name);
      if (second == stacks.end()) {
        throw Error(ErrorKind::kUsage,
                    "--part layer: \"{}\" has no second stack{}; leave it out (--tensor), or "
                    "measure its product alone (--part gate_up)",
                    escaped(first.name), name.empty() ? "" : fmt::format(" \"{}\"", escaped(name)));
      }
      layers.push_back(joined_layer(first, *second, activation));
    }
    require_whole_stacks(layers.back());
  }
  return layers;
}

}  // namespace nf4bench::plan
