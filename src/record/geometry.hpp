#pragma once

#include "base/words.hpp"
#include "nf4/tensor.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::record {

// Which of the two products of an expert a matrix is for: of gates and ups, whose outputs are
// activated, or the one that leads back. Or both, one stack behind the other: a whole layer.
enum class StackPart : std::uint8_t { kGateUp, kDown, kLayer };

constexpr auto words(StackPart /*any*/) {
  using enum StackPart;
  return std::to_array<Word<StackPart>>({{kGateUp, "gate_up"}, {kDown, "down"}, {kLayer, "layer"}});
}

// What stands between the two products of a layer.
enum class Activation : std::uint8_t { kSilu, kGeluTanh, kGptOss, kRelu2 };

constexpr auto words(Activation /*any*/) {
  using enum Activation;
  return std::to_array<Word<Activation>>(
      {{kSilu, "silu"}, {kGeluTanh, "gelu_tanh"}, {kGptOss, "gptoss"}, {kRelu2, "relu2"}});
}

// What a stack of experts is there for.
struct Stack {
  StackPart part = StackPart::kGateUp;
  std::int64_t top_k = 1;  // experts that each token chooses
  // Of a layer, whose shape is [experts, rows of both matrices, inputs]: the second, [inputs,
  // columns], has as many elements as `columns` rows.
  std::optional<Activation> activation{};
  // Each matrix lies as [inputs, outputs]; so the shape has it, but for that of a layer.
  bool transposed = false;

  // clang-tidy 14 takes the comparison with 0 that this is made of for one with a pointer.
  auto operator<=>(const Stack&) const = default;  // NOLINT(modernize-use-nullptr)
};

// "gate_up top 8", "layer silu top 2"
std::string describe(const Stack& stack);

// What of a tensor decides a kernel's cost, besides the types.
struct Geometry {
  std::vector<std::int64_t> shape;  // of the dequantized tensor, row-major, any rank
  int blocksize = 64;
  nf4::AbsmaxKind absmax_kind = nf4::AbsmaxKind::kNested;
  std::optional<Stack> stack{};  // of a tensor whose rows different tokens choose

  // The product of the shape.
  std::int64_t elements() const;
  // The last one may be short.
  std::int64_t blocks() const { return nf4::block_count(elements(), blocksize); }

  // clang-tidy 14 takes the comparison with 0 that this is made of for one with a pointer.
  auto operator<=>(const Geometry&) const = default;  // NOLINT(modernize-use-nullptr)
};

// "4096x14336", "128x1536x2048 gate_up top 8"
std::string describe_shape(const Geometry& geometry);

}  // namespace nf4bench::record
