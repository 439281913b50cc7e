#pragma once

#include "io/checkpoint/quant_state.hpp"
#include "io/stored_tensors.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::io {

// A stack of experts as bitsandbytes' Experts4bit saves it: X_proj, U8 [experts, N*K/2], beside
// X_absmax, F32 [experts, N*K/blocksize], or as experts4bit-qlora nests these: X_absmax_q, U8 of
// the same shape. There is no quant state, so that N and K are not in it: the command line says
// them, or the config.json of the model.

inline constexpr const char* kShapeOption = "--shape-of";

// The N outputs and K inputs of each expert of a stack.
struct StackShape {
  std::string name;  // of the packed weight, or what follows one of its dots: "gate_up_proj"
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t experts = 0;           // 0: any number
  std::string source = kShapeOption;  // who says so

  bool names(std::string_view tensor) const;
};

// All that is known of the shapes of stacks.
struct StackShapes {
  std::vector<StackShape> shapes;  // the first that names a stack counts
  std::string config_gap = {};     // what the config.json does that does not give more: "has no
                                   // hidden_size"; empty when there is none
};

// What a quant state would say of a stack: NF4, bfloat16, of shape [experts, N, K], with scales of
// `kind`, but not their offset. The first of `known` that names `weight` gives N and K; the
// blocksize follows from the sizes. Throws Error(kInput) that begins with `where` when the sizes do
// not fit each other, or when no shape names it.
QuantState stack_state(std::string_view where, const StoredTensor& weight,
                       const StoredTensor& absmax, nf4::AbsmaxKind kind, const StackShapes& known);

// Appends to `shapes` what the config.json at `config`, which is there, implies of the model's
// expert stacks: gate_up_proj is [experts, 2 * intermediate, hidden] and down_proj [experts,
// hidden, intermediate]. Where it does not imply them, it says so in shapes.config_gap.
void add_config_shapes(const std::filesystem::path& config, StackShapes& shapes);

// What a model does with its experts, as its config.json says it.
struct ModelExperts {
  std::int64_t top_k = 0;    // that a token chooses; 0: it does not say
  std::string activation{};  // "silu", "gelu_pytorch_tanh", ...
  std::string model_type{};  // "gpt_oss"
  bool transposed = false;   // its stacks are of matrices that lie as [inputs, outputs]
};

// Of the config.json at `config`; nothing when that cannot be read.
ModelExperts model_experts(const std::filesystem::path& config);

}  // namespace nf4bench::io
