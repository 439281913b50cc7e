#pragma once

// What the producers of mma_ring copy of a stage: 16 bytes at once, of weights and of tokens.

#include "cuda/matmul/ring/ring_shape.hpp"
#include "cuda/ptx.cuh"
#include "variant.hpp"

namespace nf4bench::kernels::cuda {

// A thread's copies of weights for a stage, of 16 bytes: from where `of` has its i-th, or zeros.
// Turing has no copies that run beside the thread: there they are loaded a stage ahead.
template <int kCount>
class WeightCopies {
 public:
  template <class Of>
  __device__ __forceinline__ void ask([[maybe_unused]] const Of& of) {
#if __CUDA_ARCH__ < 800
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      asked_[i] =
          of.has(i) ? __ldcs(reinterpret_cast<const uint4*>(of.source(i))) : make_uint4(0, 0, 0, 0);
    }
#endif
  }

  // To places that lie `step` bytes apart.
  template <class Of>
  __device__ __forceinline__ void put([[maybe_unused]] const Of& of, std::uint32_t to,
                                      int step) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
#if __CUDA_ARCH__ >= 800
      copy_async_by_line(to + i * step, of.source(i), of.has(i));
#else
      store_shared_16(to + i * step, asked_[i]);
#endif
    }
  }

 private:
#if __CUDA_ARCH__ < 800
  uint4 asked_[kCount];
#endif
};

// Of every kRowStep-th row.
template <class Shape>
class RowCopies {
  static constexpr int kRowChunks = Shape::kRowBytes / 16;
  static constexpr int kRowStep = Shape::kProducers / kRowChunks;
  static_assert(kRowStep % 16 == 0 && Shape::kRows % kRowStep == 0);

 public:
  // Where the first goes in a slot.
  __device__ __forceinline__ static int first_place(int thread) {
    constexpr int kBlockChunks = Shape::kBlockBytes / 16;
    const int chunk = thread % kRowChunks;
    return weight_place<Shape>(thread / kRowChunks, chunk / kBlockChunks) +
           chunk % kBlockChunks * 16;
  }

  __device__ __forceinline__ RowCopies(const Job& job, int thread) : job_(job), thread_(thread) {}

  // At the first stage of a part of a tile.
  template <class Walk>
  __device__ __forceinline__ void enter_tile(const Walk& walk) {
    const int row = walk.row_at(row_of_place(thread_ / kRowChunks));
    row_step_ = walk.step_of(kRowStep);
    const int byte = walk.stage() * Shape::kRowBytes + thread_ % kRowChunks * 16;
    weights_ = job_.packed + std::int64_t{row} * row_bytes() + byte;
    rows_left_ = static_cast<int>(job_.outputs) - row;
    bytes_left_ = row_bytes() - byte;
    copies_.ask(*this);
  }

  // To the next stage of the tile.
  __device__ __forceinline__ void advance() {
    weights_ += Shape::kRowBytes;
    bytes_left_ -= Shape::kRowBytes;
    copies_.ask(*this);
  }

  __device__ __forceinline__ void put(std::uint32_t to) const {
    copies_.put(*this, to, kRowStep * Shape::kRowBytes);
  }

  __device__ __forceinline__ const std::uint8_t* source(int i) const {
    return weights_ + std::int64_t{i * row_step_} * row_bytes();
  }
  __device__ __forceinline__ bool has(int i) const {
    return bytes_left_ > 0 && i * row_step_ < rows_left_;
  }

 private:
  __device__ __forceinline__ int row_bytes() const { return static_cast<int>(job_.inputs) / 2; }

  const Job& job_;
  int thread_;
  const std::uint8_t* weights_ = nullptr;  // of its first row
  int rows_left_ = 0;                      // from that row on
  int row_step_ = kRowStep;                // from a row to the next
  int bytes_left_ = 0;                     // of a row, from this stage on
  WeightCopies<Shape::kRows / kRowStep> copies_;
};

// Where weights lie transposed: 32 rows of every kStep-th input, in the order of places.
template <class Shape>
class TransposedCopies {
  static constexpr int kInputChunks = Shape::kRows / 32;
  static constexpr int kStep = Shape::kProducers / kInputChunks;
  static_assert(kStep % 4 == 0 && (64 % kStep == 0 || kStep % 64 == 0));

 public:
  __device__ __forceinline__ static int first_place(int thread) {
    const int chunk = thread % kInputChunks;
    return transposed_weight_place<Shape>(chunk / 2, thread / kInputChunks) + chunk % 2 * 16;
  }

  __device__ __forceinline__ TransposedCopies(const Job& job, int thread)
      : job_(job), thread_(thread) {}

  template <class Walk>
  __device__ __forceinline__ void enter_tile(const Walk& walk) {
    const int input = walk.stage() * Shape::kInputs + input_of_place(thread_ / kInputChunks);
    const int row = walk.row_of_matrix() + thread_ % kInputChunks * 32;
    const std::int64_t first = walk.expert() * job_.inputs + input;
    weights_ = job_.packed + first * input_bytes() + row / 2;
    inputs_left_ = row < job_.outputs ? static_cast<int>(job_.inputs) - input : 0;
    copies_.ask(*this);
  }

  __device__ __forceinline__ void advance() {
    weights_ += std::int64_t{Shape::kInputs} * input_bytes();
    inputs_left_ -= Shape::kInputs;
    copies_.ask(*this);
  }

  __device__ __forceinline__ void put(std::uint32_t to) const {
    copies_.put(*this, to, kStep * kColumnRowBytes);
  }

  __device__ __forceinline__ const std::uint8_t* source(int i) const {
    return weights_ + std::int64_t{input_of_place(i * kStep)} * input_bytes();
  }
  __device__ __forceinline__ bool has(int i) const {
    return input_of_place(i * kStep) < inputs_left_;
  }

 private:
  __device__ __forceinline__ int input_bytes() const { return static_cast<int>(job_.outputs) / 2; }

  const Job& job_;
  int thread_;
  const std::uint8_t* weights_ = nullptr;
  int inputs_left_ = 0;  // of the matrix, from its first one of this stage on
  WeightCopies<Shape::kInputs / kStep> copies_;
};

// A thread's copies of tokens, of every kTokenStep-th.
template <class Shape>
class TokenCopies {
  static constexpr int kTokenChunks = Shape::kInputs * 2 / 16;
  static constexpr int kTokenStep = Shape::kProducers / kTokenChunks;
  static constexpr int kTokenSteps = Shape::kTokens / kTokenStep;
  static_assert(kTokenStep % 2 == 0 && Shape::kTokens % kTokenStep == 0);

 public:
  __device__ __forceinline__ static int first_place(int thread) {
    constexpr int kBlockChunks = Shape::kTokenBlockBytes / 16;
    const int chunk = thread % kTokenChunks;
    return token_place<Shape>(thread / kTokenChunks, chunk / kBlockChunks, chunk % kBlockChunks);
  }

  __device__ __forceinline__ TokenCopies(const Job& job, int thread) : job_(job), thread_(thread) {}

  template <class Walk>
  __device__ __forceinline__ void enter_tile(const Walk& walk) {
    const int token = walk.first_token() + thread_ / kTokenChunks;
    const int byte = walk.stage() * Shape::kInputs * 2 + thread_ % kTokenChunks * 16;
    tokens_ =
        static_cast<const std::uint8_t*>(job_.input) + std::int64_t{token} * token_bytes() + byte;
    tokens_left_ = walk.tokens_end(static_cast<int>(job_.tokens)) - token;
    bytes_left_ = token_bytes() - byte;
    ask();
  }

  __device__ __forceinline__ void advance() {
    tokens_ += Shape::kInputs * 2;
    bytes_left_ -= Shape::kInputs * 2;
    ask();
  }

  // Zeros where a token ends. Tokens that there are not are left as they are: nobody reads their
  // accumulators.
  __device__ __forceinline__ void put(std::uint32_t to) const {
#pragma unroll
    for (int i = 0; i < kTokenSteps; ++i) {
      if (i * kTokenStep >= tokens_left_) continue;
      const std::uint32_t at = to + i * kTokenStep * Shape::kTokenBlockBytes;
#if __CUDA_ARCH__ >= 800
      copy_async<16>(at, source(i), bytes_left_ > 0);
#else
      store_shared_16(at, asked_[i]);
#endif
    }
  }

 private:
  __device__ __forceinline__ int token_bytes() const {
    return static_cast<int>(job_.inputs) * 2;
  }
  __device__ __forceinline__ const std::uint8_t* source(int i) const {
    return tokens_ + std::int64_t{i * kTokenStep} * token_bytes();
  }

  __device__ __forceinline__ void ask() {
#if __CUDA_ARCH__ < 800
#pragma unroll
    for (int i = 0; i < kTokenSteps; ++i) {
      const bool has = bytes_left_ > 0 && i * kTokenStep < tokens_left_;
      asked_[i] = has ? __ldg(reinterpret_cast<const uint4*>(source(i))) : make_uint4(0, 0, 0, 0);
    }
#endif
  }

  const Job& job_;
  int thread_;
  const std::uint8_t* tokens_ = nullptr;  // of its first one
  int tokens_left_ = 0;                   // from that one on
  int bytes_left_ = 0;                    // of a token, from this stage on
#if __CUDA_ARCH__ < 800
  uint4 asked_[kTokenSteps];
#endif
};

}  // namespace nf4bench::kernels::cuda
