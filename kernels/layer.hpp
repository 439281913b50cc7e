#pragma once

// A layer of experts as the two products that it is made of, and what stands between them. C++17.

#include "activation.hpp"
#include "variant.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace nf4bench::kernels {

// What `kind` is of in the models that have it: silu and gelu_tanh of gates and then ups, gptoss of
// both in turns, and clamped; relu2 of one input.
inline Activation activation_of(ActivationKind kind) {
  Activation of;
  of.kind = kind;
  of.gated = kind != ActivationKind::kRelu2;
  of.interleaved = kind == ActivationKind::kGptOss;
  of.limit = of.interleaved ? 7.0f : 0.0f;
  return of;
}

// Outputs of the first product for each column of the layer.
constexpr std::int64_t outputs_per_column(ActivationKind kind) {
  return kind == ActivationKind::kRelu2 ? 1 : 2;
}

// What stands between the products of `layer`, without buffers.
inline Activation activation_of(const Problem& layer) {
  Activation of = activation_of(layer.layer.activation);
  of.type = layer.output_type;
  of.rows = slots_of(layer);
  of.columns = layer.layer.columns;
  return of;
}

// The first product of a layer, of each token with each expert it chose, and the second.
inline Problem up_of(Problem layer) {
  layer.outputs = outputs_per_column(layer.layer.activation) * layer.layer.columns;
  layer.group.slots_have_rows = layer.group.sums_slots = false;
  layer.layer = {};
  layer.elements = layer.group.experts * layer.outputs * layer.inputs;
  layer.blocks = block_count(layer.elements, std::int64_t{1} << layer.block_shift);
  return layer;
}
inline Problem down_of(Problem layer) {
  layer.inputs = layer.layer.columns;
  layer.group.slots_have_rows = layer.group.sums_slots = true;
  layer.layer = {};
  layer.elements = layer.group.experts * layer.outputs * layer.inputs;
  layer.blocks = block_count(layer.elements, std::int64_t{1} << layer.block_shift);
  return layer;
}

// Whether the second stack begins with a block, and where scales are nested with a group of them.
inline bool has_whole_stacks(const Problem& layer) {
  const Problem up = up_of(layer);
  return (up.blocks << up.block_shift) == up.elements &&
         (!up.nested || up.blocks % kNestedBlocksize == 0);
}

// The first product of a layer with what stands behind it.
inline Problem activated(Problem up, const Activation& of) {
  up.group.activates = of.gated;
  up.group.in_turns = of.gated && of.interleaved;
  return up;
}

// Whether `product` does that.
inline bool activates(const Variant& product, const Problem& up, const Activation& of,
                      const DeviceFacts& device) {
  return of.gated && of.kind != ActivationKind::kRelu2 &&
         why_unsupported(product, activated(up, of), device) == nullptr;
}

// Where the parts of a layer's workspace begin, in bytes: what the first product gives at 0.
struct LayerWorkspace {
  bool is_activated;  // by the first product
  std::int64_t activated;
  std::int64_t product;
  std::int64_t bytes;

  LayerWorkspace(const Variant& of, const Problem& layer, const Launch& launch)
      : is_activated(activates(of, up_of(layer), activation_of(layer), launch.device)),
        activated(is_activated ? 0 : aligned(layer, up_of(layer).outputs)),
        product(activated + aligned(layer, layer.layer.columns)) {
    Problem up = up_of(layer);
    if (is_activated) up = kernels::activated(up, activation_of(layer));
    bytes =
        product + std::max(workspace_of(of, up, launch), workspace_of(of, down_of(layer), launch));
  }

 private:
  static std::int64_t aligned(const Problem& layer, std::int64_t columns) {
    constexpr std::int64_t kAlignment = 256;
    const auto size = static_cast<std::int64_t>(size_in_bytes(layer.output_type));
    return block_count(slots_of(layer) * columns * size, kAlignment) * kAlignment;
  }
};

// The products of a layer with the buffers of its weight; prepare() left what it made of the second
// `prepared` bytes behind that of the first.
inline Job up_of(const Job& layer) {
  Job up = layer;
  static_cast<Problem&>(up) = up_of(static_cast<const Problem&>(layer));
  up.slot_weights = nullptr;
  return up;
}
inline Job down_of(const Job& layer, std::int64_t prepared) {
  Job down = layer;
  static_cast<Problem&>(down) = down_of(static_cast<const Problem&>(layer));
  skip_blocks(down, up_of(static_cast<const Problem&>(layer)).blocks);
  if (down.prepared != nullptr) down.prepared = static_cast<std::byte*>(down.prepared) + prepared;
  return down;
}

// `product`, which then does layers, too: one product, `activate` if that does not, and the other.
inline Variant with_layers(const Variant& product,
                           void (*activate)(const Activation& of, const Launch& launch)) {
  Variant both = product;
  both.unsupported = [product](const Problem& problem, const DeviceFacts& device) {
    if (problem.layer.columns == 0) return why_unsupported(product, problem, device);
    if (!has_whole_stacks(problem)) return "the second stack does not begin with a group of blocks";
    const char* const reason = why_unsupported(product, up_of(problem), device);
    return reason != nullptr ? reason : why_unsupported(product, down_of(problem), device);
  };
  both.workspace_bytes = [product](const Problem& problem, const Launch& launch) {
    const bool is_layer = problem.layer.columns > 0;
    return static_cast<std::size_t>(is_layer ? LayerWorkspace(product, problem, launch).bytes
                                             : workspace_of(product, problem, launch));
  };
  both.launch = [product, activate](const Job& job, const Launch& launch) {
    if (job.layer.columns == 0) return product.launch(job, launch);
    const LayerWorkspace parts(product, job, launch);
    auto* const workspace = static_cast<std::byte*>(job.workspace);
    Job up = up_of(job);
    Job down = down_of(job, prepared_of(product, up));
    Activation between = activation_of(job);
    between.input = up.output = workspace;
    down.input = between.output = workspace + parts.activated;
    up.workspace = down.workspace = workspace + parts.product;
    if (parts.is_activated) static_cast<Problem&>(up) = activated(up, between);
    up.activation = &between;
    product.launch(up, launch);
    if (!parts.is_activated) activate(between, launch);
    product.launch(down, launch);
  };
  if (!product.prepare) return both;
  const auto prepared_bytes = [product](const Problem& problem) {
    if (problem.layer.columns == 0) return prepared_of(product, problem);
    return prepared_of(product, up_of(problem)) + prepared_of(product, down_of(problem));
  };
  both.prepared_bytes = [prepared_bytes](const Problem& problem) {
    return static_cast<std::size_t>(prepared_bytes(problem));
  };
  both.prepare = [product](const Job& job, const Launch& launch) {
    if (job.layer.columns == 0) return product.prepare(job, launch);
    const Job up = up_of(job);
    product.prepare(up, launch);
    product.prepare(down_of(job, prepared_of(product, up)), launch);
  };
  return both;
}

}  // namespace nf4bench::kernels
