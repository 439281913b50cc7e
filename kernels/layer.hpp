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

// Has a layer's first product do what stands behind it, too.
inline void add_activation(Problem& up, const Activation& of) {
  up.group.activates = of.gated;
  up.group.in_turns = of.gated && of.interleaved;
}

// Whether `product` can do that.
inline bool activates(const Variant& product, Problem up, const Activation& of,
                      const DeviceFacts& device) {
  add_activation(up, of);
  return of.gated && of.kind != ActivationKind::kRelu2 &&
         why_unsupported(product, up, device) == nullptr;
}

// The products of a layer with the buffers of its weight; prepare() left what it made of the second
// `prepared` bytes behind that of the first.
inline Job up_of(const Job& layer) {
  Job up = layer;
  static_cast<Problem&>(up) = up_of(static_cast<const Problem&>(layer));
  return up;
}
inline Job down_of(const Job& layer, std::int64_t prepared) {
  Job down = layer;
  static_cast<Problem&>(down) = down_of(static_cast<const Problem&>(layer));
  if (down.packed != nullptr) skip_blocks(down, up_of(static_cast<const Problem&>(layer)).blocks);
  if (down.prepared != nullptr) down.prepared = static_cast<std::byte*>(down.prepared) + prepared;
  return down;
}

using ActivateFunction = void (*)(const Activation& of, const Launch& launch);

// Both products of a layer and what stands between them, which share a workspace: in it lies what
// the first product gives, then what is activated, then the workspace of either product.
struct LayerProducts {
  const Variant* first = nullptr;
  const Variant* second = nullptr;
  Job up;
  Job down;
  Activation between;

  // Has the first product activate, if it can.
  void fuse(const DeviceFacts& device) {
    if (activates(*first, up, between, device)) add_activation(up, between);
  }

  std::int64_t workspace_bytes(const Launch& launch) const {
    return products_at() +
           std::max(workspace_of(*first, up, launch), workspace_of(*second, down, launch));
  }

  void launch(void* workspace, ActivateFunction activate, const Launch& launch) {
    auto* const begin = static_cast<std::byte*>(workspace);
    between.input = up.output = begin;
    down.input = between.output = begin + activated_at();
    up.workspace = down.workspace = begin + products_at();
    up.slot_weights = nullptr;
    up.activation = &between;
    first->launch(up, launch);
    if (!up.group.activates) activate(between, launch);
    second->launch(down, launch);
  }

 private:
  // In bytes.
  std::int64_t activated_at() const { return up.group.activates ? 0 : aligned(up.outputs); }
  std::int64_t products_at() const { return activated_at() + aligned(between.columns); }

  std::int64_t aligned(std::int64_t columns) const {
    constexpr std::int64_t kAlignment = 256;
    const auto size = static_cast<std::int64_t>(size_in_bytes(up.output_type));
    return block_count(slots_of(up) * columns * size, kAlignment) * kAlignment;
  }
};

// `product`, which then does layers, too: one product, `activate` if that does not, and the other.
inline Variant with_layers(const Variant& product, ActivateFunction activate) {
  Variant both = product;
  both.unsupported = [product](const Problem& problem, const DeviceFacts& device) {
    if (problem.layer.columns == 0) return why_unsupported(product, problem, device);
    if (!has_whole_stacks(problem)) return "the second stack does not begin with a group of blocks";
    const char* const reason = why_unsupported(product, up_of(problem), device);
    return reason != nullptr ? reason : why_unsupported(product, down_of(problem), device);
  };
  const auto products_of = [](const Variant& of, const Job& job, const DeviceFacts& device) {
    LayerProducts layer = {&of, &of, up_of(job), {}, activation_of(job)};
    layer.down = down_of(job, prepared_of(of, layer.up));
    layer.fuse(device);
    return layer;
  };
  both.workspace_bytes = [product, products_of](const Problem& problem, const Launch& launch) {
    Job job;
    static_cast<Problem&>(job) = problem;
    const bool is_layer = problem.layer.columns > 0;
    return static_cast<std::size_t>(
        is_layer ? products_of(product, job, launch.device).workspace_bytes(launch)
                 : workspace_of(product, problem, launch));
  };
  both.launch = [product, products_of, activate](const Job& job, const Launch& launch) {
    if (job.layer.columns == 0) return product.launch(job, launch);
    products_of(product, job, launch.device).launch(job.workspace, activate, launch);
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
