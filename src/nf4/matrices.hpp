#pragma once

#include "nf4/tensor.hpp"

#include <cstdint>
#include <vector>

namespace nf4bench::nf4 {

// A weight of more than two dimensions as the stack of matrices that it is: its last two dimensions
// are those of a matrix, and the others count them.

// Matrices of a weight of this shape.
std::int64_t matrix_count(const std::vector<std::int64_t>& shape);

// The shape of one of them: the last two dimensions; all when there are no more.
std::vector<std::int64_t> matrix_shape(const std::vector<std::int64_t>& shape);

// How the scales of matrix_of() are stored: nested scales of which a matrix does not begin a
// block of 256 are plain there.
AbsmaxKind matrix_absmax_kind(const std::vector<std::int64_t>& shape, int blocksize,
                              AbsmaxKind kind);

// Matrix `index` of `stack` as a tensor of its own, "NAME[3]", whose every value is the same bit
// for bit. Throws Error(kInput) when it does not begin with a block.
Nf4Tensor matrix_of(const Nf4Tensor& stack, std::int64_t index);

// Nested scales become plain ones, each the same bit for bit.
void make_plain(Nf4Tensor& tensor);

// Puts `next` behind `whole`, whose blocks are all whole and whose scales are plain; those of
// `next` become so. Every value stays the same bit for bit. Throws Error(kInput) when blocksizes
// differ or `whole` ends within a block.
void append(Nf4Tensor& whole, const Nf4Tensor& next);

}  // namespace nf4bench::nf4
