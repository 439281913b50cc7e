#include "plan/experts.hpp"

#include "base/error.hpp"
#include "base/parsed.hpp"
#include "base/text.hpp"
#include "layer.hpp"
#include "nf4/matrices.hpp"
#include "operation/weight.hpp"
#include "plan/plan.hpp"
#include "record/run_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// The layers that `stacks` make, which whole_stacks() gave: of a stack of gates and ups and the one
// that leads back, joined, with plain scales; of a synthetic one, whose outputs say how wide the
// layer is. Throws Error(kUsage) when a stack has no other, or when sizes do not fit together.
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

// What a matrix is for.
enum Role : std::size_t { kGate, kUp, kDown, kRoles };

struct Word {
  std::string_view word;
  Role role;
};
constexpr Word kWords[] = {{"gate_proj", kGate}, {"up_proj", kUp}, {"down_proj", kDown},
                           {"w1", kGate},        {"w3", kUp},      {"w2", kDown}};

struct Matrix {
  std::string layer;  // "model.layers.0.mlp.experts"
  std::int64_t expert = 0;
  Role role = kGate;
};

std::optional<Matrix> parse_name(std::string_view name) {
  constexpr std::string_view kWeight = ".weight";
  if (name.ends_with(kWeight)) name.remove_suffix(kWeight.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const auto* const word = std::ranges::find(kWords, name.substr(dot + 1), &Word::word);
  if (word == std::end(kWords)) return std::nullopt;
  const std::string_view rest = name.substr(0, dot);
  const std::size_t begin = rest.rfind('.');
  if (begin == std::string_view::npos || !rest.substr(0, begin).ends_with("experts")) {
    return std::nullopt;
  }
  const auto expert = parsed<std::int64_t>(rest.substr(begin + 1));
  if (!expert || *expert < 0) return std::nullopt;
  return Matrix{.layer = std::string(rest.substr(0, begin)), .expert = *expert, .role = word->role};
}

// The matrices of a layer: of each expert one of each role, where it has them.
using Layer = std::map<std::int64_t, std::array<const TensorSource*, kRoles>>;

[[noreturn]] void fail(const std::string& layer, const std::string& what) {
  throw Error(ErrorKind::kUsage,
              "experts: the matrices of \"{}\" make no stack: {}; leave them out (--tensor)",
              escaped(layer), what);
}

void require_alike(const std::string& layer, const TensorSource& first, const TensorSource& other) {
  const bool is_alike = other.geometry.shape == first.geometry.shape &&
                        other.geometry.blocksize == first.geometry.blocksize &&
                        other.dtype == first.dtype;
  if (is_alike) return;
  fail(layer, fmt::format("\"{}\" is {} in blocks of {}, \"{}\" {} in blocks of {}",
                          escaped(first.name), nf4::shape_to_string(first.geometry.shape),
                          first.geometry.blocksize, escaped(other.name),
                          nf4::shape_to_string(other.geometry.shape), other.geometry.blocksize));
}

// The matrices of these roles, expert by expert.
std::vector<const TensorSource*> matrices_of(const std::string& name, const Layer& layer,
                                             const std::vector<Role>& roles) {
  std::vector<const TensorSource*> matrices;
  std::int64_t next = 0;
  for (const auto& [expert, of_roles] : layer) {
    if (expert != next++) fail(name, fmt::format("expert {} is missing", next - 1));
    for (const Role role : roles) {
      if (of_roles[role] == nullptr) {
        fail(name, fmt::format("expert {} lacks one that the first has", expert));
      }
      matrices.push_back(of_roles[role]);
      require_alike(name, *matrices.front(), *matrices.back());
    }
  }
  return matrices;
}

TensorSource stack_of(const std::string& name, std::vector<const TensorSource*> matrices,
                      std::int64_t experts) {
  TensorSource stack = *matrices.front();
  const std::int64_t each = static_cast<std::int64_t>(matrices.size()) / experts;
  const std::vector<std::int64_t>& shape = matrices.front()->geometry.shape;
  stack.name = name;
  stack.geometry.shape = {experts, each * shape[0], shape[1]};
  stack.geometry.absmax_kind = nf4::AbsmaxKind::kPlain;
  std::vector<std::function<nf4::Nf4Tensor()>> loads;
  loads.reserve(matrices.size());
  for (const TensorSource* matrix : matrices) loads.push_back(matrix->load);
  stack.load = [name, shape = stack.geometry.shape, loads = std::move(loads)] {
    nf4::Nf4Tensor whole = loads.front()();
    nf4::make_plain(whole);
    for (std::size_t i = 1; i < loads.size(); ++i) nf4::append(whole, loads[i]());
    whole.name = name;
    whole.shape = shape;
    return whole;
  };
  return stack;
}

// The stacks that matrices of single experts make, "experts.0.gate_proj.weight" and so on (or w1,
// w2 and w3): "experts.gate_up_proj" of each expert's gates and ups, one behind the other, and
// "experts.down_proj"; with plain scales. Throws Error(kUsage) when one of them is missing, or is
// not as the others are.
std::vector<TensorSource> joined_experts(const std::vector<TensorSource>& sources) {
  std::map<std::string, Layer> layers;
  std::vector<std::string> order;
  for (const TensorSource& source : sources) {
    if (source.geometry.shape.size() != 2) continue;
    const std::optional<Matrix> matrix = parse_name(source.name);
    if (!matrix) continue;
    if (!layers.contains(matrix->layer)) order.push_back(matrix->layer);
    layers[matrix->layer][matrix->expert][matrix->role] = &source;
  }
  std::vector<TensorSource> stacks;
  for (const std::string& name : order) {
    const Layer& layer = layers[name];
    const auto& first = layer.begin()->second;
    const auto experts = static_cast<std::int64_t>(layer.size());
    const bool has_gates = first[kGate] != nullptr;
    if (has_gates || first[kUp] != nullptr) {
      const std::vector<Role> roles = has_gates ? std::vector{kGate, kUp} : std::vector{kUp};
      stacks.push_back(stack_of(name + (has_gates ? ".gate_up_proj" : ".up_proj"),
                                matrices_of(name, layer, roles), experts));
    }
    if (first[kDown] != nullptr) {
      stacks.push_back(stack_of(name + ".down_proj", matrices_of(name, layer, {kDown}), experts));
    }
  }
  return stacks;
}

// The stack that was read last, so that its matrices need not read it again. One at a time: stacks
// are large.
struct LastStack {
  std::size_t index = 0;
  std::optional<nf4::Nf4Tensor> tensor;
};

void require_whole_blocks(const TensorSource& stack) {
  const auto shape = nf4::matrix_shape(stack.geometry.shape);
  const record::Geometry matrix = {.shape = shape};
  if (matrix.elements() % stack.geometry.blocksize == 0) return;
  throw Error(ErrorKind::kUsage,
              "tensor \"{}\": matrices of {} do not each begin with a block of {}, so that no "
              "product can be made with one alone; leave it out (--tensor)",
              escaped(stack.name), nf4::shape_to_string(shape), stack.geometry.blocksize);
}

record::StackPart part_of(const TensorSource& source, const std::vector<record::StackPart>& asked) {
  if (source.geometry.stack) return source.geometry.stack->part;
  const auto has = [&](const char* word) { return source.name.find(word) != std::string::npos; };
  if (has("down") || has("w2")) return record::StackPart::kDown;
  if (has("gate") || has("up_proj") || has("w13") || asked.size() != 1) {
    return record::StackPart::kGateUp;
  }
  const bool is_down = asked.front() == record::StackPart::kDown;
  return is_down ? record::StackPart::kDown : record::StackPart::kGateUp;
}

std::int64_t top_k_of(const TensorSource& source, std::int64_t asked) {
  const std::int64_t own = source.geometry.stack ? source.geometry.stack->top_k : source.top_k;
  const std::int64_t top_k = asked > 0 ? asked : own;
  const std::int64_t experts = source.geometry.shape.front();
  if (top_k == 0) {
    throw Error(
        ErrorKind::kUsage,
        "tensor \"{}\": nothing says how many of its {} experts a token chooses; wanted --top-k K",
        escaped(source.name), experts);
  }
  if (top_k > experts) {
    throw Error(ErrorKind::kUsage, "{}: {} is more than the {} experts of \"{}\"",
                asked > 0 ? "--top-k" : "num_experts_per_tok of config.json", top_k, experts,
                escaped(source.name));
  }
  return top_k;
}

}  // namespace

std::vector<TensorSource> whole_stacks(const std::vector<TensorSource>& sources,
                                       const record::RunOptions& options) {
  const auto is_asked = [&](record::StackPart part) {
    const bool is_product = part != record::StackPart::kLayer;
    return options.parts.empty() ? is_product
                                 : std::ranges::find(options.parts, part) != options.parts.end();
  };
  std::vector<TensorSource> given = sources;
  std::ranges::move(joined_experts(sources), std::back_inserter(given));
  std::vector<TensorSource> all;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const TensorSource& source = given[i];
    if (source.geometry.shape.size() != 3 || source.geometry.elements() == 0) continue;
    const bool is_joined = i >= sources.size();
    all.push_back(source);
    all.back().geometry.stack = {
        .part = part_of(source, options.parts),
        .top_k = top_k_of(source, options.top_k),
        .transposed = !is_joined && (source.transposed || options.transposed)};
  }
  std::vector<TensorSource> stacks;
  for (const TensorSource& source : all) {
    if (is_asked(source.geometry.stack->part)) stacks.push_back(source);
  }
  if (is_asked(record::StackPart::kLayer)) {
    std::vector<TensorSource> layers = whole_layers(all, options);
    std::move(layers.begin(), layers.end(), std::back_inserter(stacks));
  }
  if (!stacks.empty()) return stacks;
  throw Error(ErrorKind::kUsage,
              "experts: found no stack of matrices{}; wanted a tensor [experts, outputs, inputs] "
              "of a file, or experts.0.up_proj.weight and so on, --shape 8x14336x4096 --top-k 2, "
              "or a preset with experts (--preset qwen3-30b-a3b)",
              options.parts.empty() ? "" : " for that --part");
}

std::vector<TensorSource> split_stacks(std::vector<TensorSource> sources) {
  std::vector<TensorSource> matrices;
  const auto last = std::make_shared<LastStack>();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    TensorSource& source = sources[i];
    if (source.geometry.shape.size() <= 2) {
      matrices.push_back(std::move(source));
      continue;
    }
    require_whole_blocks(source);
    const record::Geometry& stack = source.geometry;
    TensorSource matrix = source;
    matrix.geometry = {
        .shape = nf4::matrix_shape(stack.shape),
        .blocksize = stack.blocksize,
        .absmax_kind = nf4::matrix_absmax_kind(stack.shape, stack.blocksize, stack.absmax_kind)};
    for (std::int64_t index = 0; index < nf4::matrix_count(stack.shape); ++index) {
      matrix.name = fmt::format("{}[{}]", source.name, index);
      matrix.load = [last, i, index, load = source.load] {
        if (!last->tensor || last->index != i) {
          last->tensor.reset();
          *last = {i, load()};
        }
        return nf4::matrix_of(*last->tensor, index);
      };
      matrices.push_back(matrix);
    }
  }
  return matrices;
}

}  // namespace nf4bench::plan
