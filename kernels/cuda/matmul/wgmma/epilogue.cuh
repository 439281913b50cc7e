#pragma once

// The epilogue of the warpgroup kernel: accumulators become outputs, with their factor and the
// bias.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/layout.cuh"
#include "variant.hpp"

namespace nf4bench::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The two neighbouring rows of a lane in its block's. Of transposed weights two warps share 32
// rows, of which a lane of each has every other pair.
template <bool kTransposed>
struct LaneRows {
  int pair;     // the first row of the two
  int swapped;  // 1: the second row comes first, as lane_row() says

  __device__ __forceinline__ LaneRows() {
    const auto warp = static_cast<int>(threadIdx.x / 32);
    const auto quad = static_cast<int>(threadIdx.x % 32 / 4);
    pair = kTransposed ? warp / 2 * 32 + quad * 4 + warp % 2 * 2 : warp * 16 + quad * 2;
    swapped = kTransposed ? 0 : quad / 4;
  }
  __device__ __forceinline__ int first() const { return pair + swapped; }
  __device__ __forceinline__ int second() const { return pair + (swapped ^ 1); }
};

// Values of a lane's two rows.
struct RowValues {
  float first;
  float second;
};

// Where a lane's sums go: its rows of a tile. kPairs: both rows of a token are stored together, for
// which their number has to be even.
template <OutputType kType, bool kTransposed, bool kPairs>
class LaneOutputs {
 public:
  __device__ __forceinline__ LaneOutputs(const Job& job, RowValues factors, int row, int token)
      : factors_(factors), token_bytes_(static_cast<unsigned>(output_stride(job)) * 2) {
    const auto stride = static_cast<int>(output_stride(job));
    const LaneRows<kTransposed> rows;
    const auto outputs = static_cast<int>(job.outputs);
    row += rows.pair;
    token += static_cast<int>(threadIdx.x % 4 * 2);
    if (row >= outputs) return;
    tokens_ = static_cast<int>(job.tokens) - token;
    at_ = static_cast<std::uint8_t*>(job.output) + (std::int64_t{token} * stride + row) * 2;
    has_second_ = row + 1 < outputs;
    const float upper = bias_of<kType>(job, row);
    const float lower = has_second_ ? bias_of<kType>(job, row + 1) : 0.0f;
    const bool swapped = rows.swapped != 0;
    order_ = swapped ? 0x1032 : 0x3210;
    bias_ = {swapped ? lower : upper, swapped ? upper : lower};
  }

  // The sums of two tokens of each eight; `eight` counts these.
  __device__ __forceinline__ void store(int eight, float4 sums) const {
    store_token(eight * 8, sums.x, sums.z);
    store_token(eight * 8 + 1, sums.y, sums.w);
  }

 private:
  __device__ __forceinline__ void store_token(int token, float first, float second) const {
    first = __fadd_rn(first * factors_.first, bias_.first);
    second = __fadd_rn(second * factors_.second, bias_.second);
    const std::uint32_t pair = __byte_perm(
        kType == OutputType::kFloat16 ? pack_float16(first, second) : pack_bfloat16(first, second),
        0, order_);
    std::uint8_t* at = at_ + std::uint64_t{static_cast<unsigned>(token)} * token_bytes_;
    if constexpr (kPairs) {
      if (token < tokens_) *reinterpret_cast<std::uint32_t*>(at) = pair;
    } else {
      auto* values = reinterpret_cast<std::uint16_t*>(at);
      if (token < tokens_) values[0] = static_cast<std::uint16_t>(pair);
      if (token < tokens_ && has_second_) values[1] = static_cast<std::uint16_t>(pair >> 16);
    }
  }

  RowValues factors_;  // of the sums
  RowValues bias_ = {};
  unsigned token_bytes_;        // from a token to the next
  int tokens_ = 0;              // from this lane's first on
  std::uint8_t* at_ = nullptr;  // the pair of rows of that token
  std::uint32_t order_ = 0;     // of a pair's bytes
  bool has_second_ = false;
};

#endif

}  // namespace nf4bench::kernels::cuda
