#pragma once

#include "io/checkpoint/checkpoint.hpp"
#include "io/checkpoint/expert_stack.hpp"
#include "io/checkpoint/inventory.hpp"
#include "io/checkpoint/quant_state.hpp"
#include "io/checkpoint/tensor_group.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace nf4bench::io {

// A 4-bit weight whose quant state has been read and whose lengths have been checked.
struct JudgedEntry {
  TensorEntry entry;
  std::string quant_type;  // empty when it could not be read
  float nested_offset = 0.0f;
};

// Reads quant states and code tables, and judges whether the pieces of a group fit each other.
class EntryReader {
 public:
  // Borrows both.
  EntryReader(const Inventory& inventory, const StackShapes& shapes)
      : inventory_(inventory), shapes_(shapes), files_(inventory) {}

  // A fault of the group itself becomes the problem of its entry and is not thrown.
  JudgedEntry read(const TensorGroup& group);

 private:
  void judge(const TensorGroup& group, JudgedEntry& judged);
  void judge_stack(const TensorGroup& group, JudgedEntry& judged);
  float stack_offset(const TensorGroup& group);
  void sum_state_bytes(const TensorGroup& group, TensorEntry& entry) const;
  Piece state_piece(const TensorGroup& group) const;
  QuantState read_state(const TensorGroup& group);
  void judge_weight(const StoredTensor& weight, TensorEntry& entry) const;
  void judge_absmax(const TensorGroup& group, const TensorEntry& entry) const;
  void judge_quant_map(const StoredTensor& map);
  void judge_nested(const TensorGroup& group, TensorEntry& entry);
  void judge_nested_map(const StoredTensor& map, TensorEntry& entry);

  // "<file>: tensor <name>" of the group being judged.
  std::string where() const;

  // The stored tensor of `piece`; an Error when the input has none or its file is damaged.
  StoredTensor required(const TensorGroup& group, Piece piece) const;
  StoredTensor required(const std::optional<std::size_t>& number, std::string_view field,
                        const std::string& name) const;
  void require_layout(Piece piece, const StoredTensor& tensor, ElementType type,
                      std::int64_t length) const;
  std::string read_bytes(const StoredTensor& tensor);

  const Inventory& inventory_;
  const StackShapes& shapes_;
  OpenFiles files_;
  std::string sound_map_;  // bytes of the last nested_quant_map without a warning
  std::string source_;     // file of the group being judged
  std::string_view name_;  // its weight's
};

}  // namespace nf4bench::io
