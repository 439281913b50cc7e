#pragma once

// Where operands lie: which rows and inputs a lane's fragments have, and in which order shared
// memory has them, so that what lanes read together lies in different banks. Some of it is in
// docs/product_layout.svg, and what mma_ring does in ring/ring_shape.hpp.
//
// Fragments of mma.m16n8k16, of lane 4 g + t. Two inputs are a register:
//
//          A: inputs 2t 2t+1   2t+8 2t+9       B: inputs 2t 2t+1   2t+8 2t+9     D: columns 2t 2t+1
//   row g            a[0]      a[2]     column g        b0         b1     row g         d[0] d[1]
//   row g+8          a[1]      a[3]                                       row g+8       d[2] d[3]
//
// Sums do not change when the inputs of A and B change places alike, nor outputs when it is known
// which row is which. So a lane has the inputs that it finds side by side in memory, and rows in
// the order that suits the banks.

#include "cuda/matmul/boxes.hpp"

namespace nf4bench::kernels::cuda {

// The copy engine's swizzle, also done by hand: of rows of 128 bytes, which are all banks, piece p
// of 16 bytes of row r lies where p ^ r % 8 would.
//
//   row 0   0 1 2 3 4 5 6 7      a column of pieces, which eight lanes read together, lies in all
//   row 1   1 0 3 2 5 4 7 6      banks
//   row 2   2 3 0 1 6 7 4 5
//   row 3   3 2 1 0 7 6 5 4
//   ...
__host__ __device__ constexpr int swizzled(int row, int piece) {
  return row * kBoxBytes + ((piece ^ (row & 7)) << 4);
}

// wgmma_decode. A lane's two rows of its warp's 16: those that its fragments have as rows g and
// g + 8 are neighbours, so that their outputs are. In the upper half of a warp they change places,
// so that the rows that a warp reads together lie in different banks.
//
//   g          0  1  2  3  4  5  6  7
//   row g      0  2  4  6  9 11 13 15
//   row g + 8  1  3  5  7  8 10 12 14
__host__ __device__ constexpr int lane_row(int lane, int second) {
  return lane / 4 * 2 + (lane / 16 ^ second);
}

// With products of single warps: of a block of 64 inputs, a quarter of a stage, lane t has inputs
// 16 t to 16 t + 15, which are two words of a row and 32 bytes of a token, in two halves: bytes of
// swizzled rows, or of a token's whole stage, which 16 bytes keep from the next one's banks.
__host__ __device__ constexpr int word_place(int row, int quarter, int t) {
  return row * kBoxBytes + ((quarter * 32 + t * 8) ^ (row & 7) << 4);
}
__host__ __device__ constexpr int half_place(int token, int t, int half) {
  return token * kBoxBytes + ((t * 32 + half * 16) ^ (token & 7) << 4);
}
inline constexpr int kTokenRowBytes = 512 + 16;
__host__ __device__ constexpr int half_place_in_row(int token, int quarter, int t, int half) {
  return token * kTokenRowBytes + quarter * 128 + t * 32 + half * 16;
}

// wgmma_decode with weights that lie transposed: of an input 32 bytes for each of `kGroups`
// warpgroups, in the copy engine's swizzle, which has pieces of 16 bytes, 32 rows, change places
// within 32, 64 or 128 bytes.
inline constexpr int kTransposedRowBytes = 32;
template <int kGroups>
__host__ __device__ constexpr int transposed_place(int input, int piece) {
  const int at = input * kGroups * kTransposedRowBytes;
  return at + ((piece ^ (at >> 7 & (2 * kGroups - 1))) << 4);
}

// mma_linear with 2 to 16 tokens. A lane's row g of a box of 16; row g + 8 is 8 further down. So
// eight lanes that read together find their words in different banks.
//
//   g          0  1  2  3  4  5  6  7
//   row g      0  2  4  6  1  3  5  7
__host__ __device__ constexpr int box_row(int lane) {
  return lane / 4 % 4 * 2 + lane / 16;
}

// Where in the image of a block of 64 inputs the activations of a lane begin. In odd blocks those
// of each four lanes change places with those of the next four, so that a warp, which writes four
// blocks, finds them in different banks.
__host__ __device__ constexpr unsigned operand_place(unsigned block, unsigned lane) {
  return (lane ^ block % 2 * 4) * 16;
}

// mma_table. Lane t has a run of 32 neighbouring inputs of a stage's 128: four words of a row, one
// a step. Runs of 16 bytes lie in this order in a row, and lanes begin with different words:
//
//   rows 0 1   0 1 2 3      lane t       0 1 2 3
//   rows 2 3   1 0 3 2      word, step 0 0 1 2 3
//   rows 4 5   2 3 0 1      word, step 1 1 2 3 0
//   rows 6 7   3 2 1 0      ...
__host__ __device__ constexpr int run_place(int row, int t) {
  return t ^ (row >> 1 & 3);
}
__host__ __device__ constexpr int lane_word(int step, int t) {
  return (step + t) & 3;
}

// Where in a stage of a token its piece of eight inputs lies: first the first word of all four
// runs, with which eight lanes read four runs and two tokens.
//
//   token 0   0 4 8 12   1 5 9 13   2 6 10 14   3 7 11 15
//   token 1   1 5 9 13   0 4 8 12   3 7 11 15   2 6 10 14
__host__ __device__ constexpr int token_place(int token, int piece) {
  return (piece % 4 * 4 + piece / 4) ^ (token % 2 * 4);
}

}  // namespace nf4bench::kernels::cuda
