#include "nf4/matrices.hpp"

#include "base/error.hpp"
#include "nf4/reference.hpp"

#include <fmt/format.h>

namespace nf4bench::nf4 {
namespace {

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

template <class Value>
std::vector<Value> part_of(const std::vector<Value>& values, std::int64_t first,
                           std::int64_t count) {
  const auto begin = values.begin() + first;
  return {begin, begin + count};
}

void take_nested_scales(Nf4Tensor& matrix, const Nf4Tensor& stack, std::int64_t first_block) {
  matrix.absmax_codes = part_of(stack.absmax_codes, first_block, matrix.blocks());
  matrix.nested_absmax =
      part_of(stack.nested_absmax, first_block / kNestedBlocksize, matrix.nested_blocks());
  matrix.nested_map = stack.nested_map;
  matrix.nested_offset = stack.nested_offset;
}

}  // namespace

std::int64_t matrix_count(const std::vector<std::int64_t>& shape) {
  const std::int64_t elements = product(matrix_shape(shape));
  return elements == 0 ? 1 : product(shape) / elements;
}

std::vector<std::int64_t> matrix_shape(const std::vector<std::int64_t>& shape) {
  return {shape.size() > 2 ? shape.end() - 2 : shape.begin(), shape.end()};
}

AbsmaxKind matrix_absmax_kind(const std::vector<std::int64_t>& shape, int blocksize,
                              AbsmaxKind kind) {
  const std::int64_t nested_block = std::int64_t{kNestedBlocksize} * blocksize;
  const bool is_whole =
      matrix_count(shape) == 1 || product(matrix_shape(shape)) % nested_block == 0;
  return is_whole ? kind : AbsmaxKind::kPlain;
}

Nf4Tensor matrix_of(const Nf4Tensor& stack, std::int64_t index) {
  Nf4Tensor matrix;
  matrix.name = fmt::format("{}[{}]", stack.name, index);
  matrix.source = stack.source;
  matrix.shape = matrix_shape(stack.shape);
  matrix.elements = product(matrix.shape);
  matrix.blocksize = stack.blocksize;
  matrix.dtype = stack.dtype;
  matrix.absmax_kind = matrix_absmax_kind(stack.shape, stack.blocksize, stack.absmax_kind);
  const std::int64_t first = index * matrix.elements;
  if (first % stack.blocksize != 0) {
    throw Error(ErrorKind::kInput, "{} does not begin with a block of {} elements", matrix.name,
                stack.blocksize);
  }
  matrix.packed = part_of(stack.packed, first / 2, packed_bytes(matrix.elements));
  const std::int64_t first_block = first / stack.blocksize;
  if (matrix.is_nested()) {
    take_nested_scales(matrix, stack, first_block);
    return matrix;
  }
  for (std::int64_t block = 0; block < matrix.blocks(); ++block) {
    matrix.absmax.push_back(block_scale(stack, first_block + block));
  }
  return matrix;
}

void make_plain(Nf4Tensor& tensor) {
  if (!tensor.is_nested()) return;
  for (std::int64_t block = 0; block < tensor.blocks(); ++block) {
    tensor.absmax.push_back(block_scale(tensor, block));
  }
  tensor.absmax_kind = AbsmaxKind::kPlain;
  tensor.absmax_codes.clear();
  tensor.nested_absmax.clear();
  tensor.nested_map.clear();
  tensor.nested_offset = 0.0f;
}

void append(Nf4Tensor& whole, const Nf4Tensor& next) {
  if (whole.blocksize != next.blocksize || whole.elements % whole.blocksize != 0) {
    throw Error(ErrorKind::kInput,
                "{} cannot be joined to {}: wanted whole blocks of one size, found {} elements in "
                "blocks of {} and blocks of {}",
                next.name, whole.name, whole.elements, whole.blocksize, next.blocksize);
  }
  whole.packed.insert(whole.packed.end(), next.packed.begin(), next.packed.end());
  for (std::int64_t block = 0; block < next.blocks(); ++block) {
    whole.absmax.push_back(block_scale(next, block));
  }
  whole.elements += next.elements;
}

}  // namespace nf4bench::nf4
