#pragma once

#include "io/checkpoint/checkpoint.hpp"
#include "io/checkpoint/inventory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::io {

// The pieces of one 4-bit weight in a state dict, by the suffix that follows the weight's name.
enum class Piece : std::uint8_t {
  kWeight,
  kAbsmax,
  kQuantMap,
  kNestedAbsmax,
  kNestedQuantMap,
  kStateNf4,   // the quant state, under the key that names nf4
  kStateFp4,   // under the key that names fp4
  kStateJson,  // in a .npy folder or .npz archive, as JSON text
};

inline constexpr std::size_t kPieces = 8;

// What follows the weight's name in the name of `piece`: ".absmax"; empty for the weight itself.
std::string_view suffix_of(Piece piece);

// The numbers of the stored tensors that make up one 4-bit weight.
struct TensorGroup {
  std::string_view name;  // of the weight; borrowed from the stored tensors
  std::array<std::optional<std::size_t>, kPieces> pieces;
  bool is_stack = false;                         // of experts: no quant state, and no table
  std::optional<std::size_t> stack_offset = {};  // of a stack whose scales are nested

  const std::optional<std::size_t>& operator[](Piece piece) const {
    return pieces[static_cast<std::size_t>(piece)];
  }
};

// What the tensor is called that would be `piece` of a group, and the offset of a stack.
std::string name_of(const TensorGroup& group, Piece piece);
std::string name_of_stack_offset(const TensorGroup& group);

// All groups of an input, and what belongs to none.
struct TensorGroups {
  std::vector<TensorGroup> four_bit;  // NF4, FP4, or meant to be; in natural name order
  std::vector<OtherTensors> others;
};

// Groups by name. The weights of LLM.int8 and GPTQ count as kinds of their own.
TensorGroups group_tensors(const Inventory& inventory);

}  // namespace nf4bench::io
