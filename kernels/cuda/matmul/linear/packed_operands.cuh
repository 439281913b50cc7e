#pragma once

// What products of packed weights with integer tensor cores are made of: products of
// bytes, and bytes looked up for a lane's part of operand A (byte_tables.hpp).

#include "cuda/matmul/linear/byte_tables.hpp"
#include "cuda/ptx.cuh"

namespace nf4bench::kernels::cuda {

// Tables are words that a block leaves in shared memory and reads back from there, so that they
// stay in registers.
template <class Tables>
inline constexpr int kTableWords = sizeof(Tables) / sizeof(std::uint32_t);

#if __CUDA_ARCH__ >= 800

template <class Tables>
__device__ __forceinline__ std::uint32_t table_word(const Tables& tables, unsigned i) {
  return reinterpret_cast<const std::uint32_t*>(&tables)[i];
}

template <class Tables>
__device__ __forceinline__ Tables load_tables(std::uint32_t address) {
  ByteTable parts[sizeof(Tables) / sizeof(ByteTable)];
#pragma unroll
  for (int i = 0; i < kTableWords<Tables> / 4; ++i) {
    const uint4 words = load_shared_16(address + 16 * i);
    parts[i] = {{words.x, words.y, words.z, words.w}};
  }
  Tables tables;
  memcpy(&tables, parts, sizeof(tables));
  return tables;
}

#endif

// word >> 16 as a dot product: shifts share a pipe with prmt, which is the busy one.
__device__ __forceinline__ std::uint32_t upper_half(std::uint32_t word) {
  return dot_halves(word, 0x0100u);
}

// A packed word of a lane's first row (lane / 4) and one of its second (8 further down).
struct WordPair {
  std::uint32_t first;
  std::uint32_t second;
};

// Four nibbles a register, in the order of operand A.
struct NibbleSelectors {
  std::uint32_t nibbles[4];

  __device__ __forceinline__ explicit NibbleSelectors(WordPair words)
      : nibbles{words.first, words.second, upper_half(words.first), upper_half(words.second)} {}
};

// Operand A of two neighbouring words: a signed byte for each of 16 weights of both rows of a lane.
struct LookedUp {
  std::uint32_t low[2][4];   // of each word: the bytes of codes 0 to 7, else 0 or -1
  std::uint32_t high[2][4];  // of codes 8 to 15

  // Of the words and of the same with bit 3 of each nibble turned over.
  __device__ __forceinline__ void look_up(const ByteTable& table, int word,
                                          const NibbleSelectors& selectors,
                                          const NibbleSelectors& turned) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      low[word][i] = permute(table.words[0], table.words[1], selectors.nibbles[i]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      high[word][i] = permute(table.words[2], table.words[3], turned.nibbles[i]);
    }
  }
};

// Writes the activations of a word to a block of them: in the order of its nibbles, odd before
// even.
__device__ __forceinline__ void write_mixed(std::uint8_t* block, int word, std::uint32_t even,
                                            std::uint32_t odd) {
  reinterpret_cast<uint2*>(block)[word] =
      make_uint2(__byte_perm(odd, even, 0x5140), __byte_perm(odd, even, 0x7362));
}

__device__ __forceinline__ NibbleSelectors turned_selectors(WordPair words) {
  return NibbleSelectors({words.first ^ 0x88888888u, words.second ^ 0x88888888u});
}

#if __CUDA_ARCH__ >= 800

// sum += the looked up bytes times `mixed`, the activations of each word.
__device__ __forceinline__ void multiply_looked_up(int (&sum)[4], const LookedUp& weights,
                                                   const uint2 (&mixed)[2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    mma_m16n8k32_signed(sum, weights.low[i], mixed[i].x, mixed[i].y);
    mma_m16n8k32_signed(sum, weights.high[i], mixed[i].x, mixed[i].y);
  }
}

#endif

}  // namespace nf4bench::kernels::cuda
