#include "io/checkpoint/tensor_reader.hpp"

#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "io/checkpoint/inventory.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <new>
#include <span>
#include <vector>

namespace nf4bench::io {
namespace {

class PieceReader {
 public:
  PieceReader(const Inventory& inventory, const TensorGroup& group)
      : inventory_(inventory), group_(group), files_(inventory) {}

  // The first `count` values of `piece`, whose layout has been checked.
  template <typename T>
  std::vector<T> read(Piece piece, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    const StoredTensor tensor = inventory_.tensors[*group_[piece]];
    files_[tensor.file].read(tensor.begin, std::as_writable_bytes(std::span(values)));
    return values;
  }

 private:
  const Inventory& inventory_;
  const TensorGroup& group_;
  OpenFiles files_;
};

void read_pieces(PieceReader& reader, nf4::Nf4Tensor& tensor) {
  tensor.packed = reader.read<std::uint8_t>(Piece::kWeight, nf4::packed_bytes(tensor.elements));
  if (!tensor.is_nested()) {
    tensor.absmax = reader.read<float>(Piece::kAbsmax, tensor.blocks());
    return;
  }
  tensor.absmax_codes = reader.read<std::uint8_t>(Piece::kAbsmax, tensor.blocks());
  tensor.nested_absmax = reader.read<float>(Piece::kNestedAbsmax, tensor.nested_blocks());
  tensor.nested_map = reader.read<float>(Piece::kNestedQuantMap, nf4::kNestedMapEntries);
}

}  // namespace

nf4::Nf4Tensor read_tensor(const Inventory& inventory, const TensorPlan& plan,
                           const TensorEntry& entry) {
  const std::string where =
      fmt::format("{}: tensor {}", escaped(entry.source), in_quotes(entry.name));
  const std::int64_t needed = entry.packed_bytes + entry.state_bytes;
  const std::int64_t usable = usable_memory_bytes();
  if (needed > usable) {
    throw input_error(where, "memory", fmt::format("{} bytes that may be used", usable),
                      fmt::format("{} for this tensor alone", needed));
  }
  nf4::Nf4Tensor tensor;
  tensor.name = entry.name;
  tensor.source = entry.source;
  tensor.shape = entry.shape;
  tensor.elements = entry.elements;
  tensor.blocksize = entry.blocksize;
  tensor.dtype = entry.dtype;
  tensor.absmax_kind = entry.absmax_kind;
  tensor.nested_offset = plan.nested_offset;
  try {
    PieceReader reader(inventory, plan.group);
    read_pieces(reader, tensor);
  } catch (const std::bad_alloc&) {
    throw input_error(where, fmt::format("{} bytes of memory could not be had", needed));
  }
  nf4::validate(tensor);
  return tensor;
}

}  // namespace nf4bench::io
