#include "io/stored_tensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::io {

void StoredTensors::expect(std::size_t tensors, std::size_t name_bytes) {
  names_.expect(tensors, name_bytes);
  reserve_more(rows_, tensors);
  reserve_more(dimensions_, tensors);  // most tensors have one or two
}

void StoredTensors::add(const StoredTensor& tensor) {
  names_.add(tensor.name);
  rows_.push_back({.shape_begin = dimensions_.size(),
                   .begin = tensor.begin,
                   .bytes = tensor.bytes,
                   .file = tensor.file,
                   .rank = static_cast<std::uint16_t>(tensor.shape.size()),
                   .type = tensor.type});
  dimensions_.insert(dimensions_.end(), tensor.shape.begin(), tensor.shape.end());
}

StoredTensor StoredTensors::operator[](std::size_t number) const {
  const Row& row = rows_[number];
  return {.name = names_[number],
          .type = row.type,
          .shape = std::span(dimensions_).subspan(row.shape_begin, row.rank),
          .file = row.file,
          .begin = row.begin,
          .bytes = row.bytes};
}

std::string dimensions_to_string(std::span<const std::uint64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace nf4bench::io
