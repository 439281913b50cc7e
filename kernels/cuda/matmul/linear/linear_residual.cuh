#pragma once

// The codebook as a line and what is left of it, both integers, so that the integer tensor cores
// can multiply packed weights almost as they are:
//
//   codebook[code] = (kSlope * code + kIntercept + residual[code]) / kSteps
//
// The codes are operands after one `and` each. The residuals, one signed byte a code, come from
// prmt, which takes the packed weight as its selectors: three bits of a nibble choose one of eight
// bytes, and bit 3 replicates that byte's sign. So prmt(codes 0 to 7, w) gives the residuals of the
// low codes, and 0 or -1 for the high ones; prmt(codes 8 to 15, w ^ 0x88888888) the other way
// round. The table's bytes are chosen so that the sum of both is right, and the tensor core adds
// them.

#include "nf4/format.hpp"

#include <cstdint>

namespace nf4bench::kernels::cuda {

// Of those with which 0 and 1 are exact, so that a weight of zeros adds nothing, the line and the
// steps that leave the smallest error: 4.0e-4 of a normal weight's root mean square.
inline constexpr double kSteps = 1037;
inline constexpr double kSlope = 124.375;
inline constexpr double kIntercept = -7 * kSlope - 38;

constexpr int residual_of(int code) {
  const double steps = nf4::codebook_value(code) * kSteps - kSlope * code - kIntercept;
  return static_cast<int>(steps < 0 ? steps - 0.5 : steps + 0.5);
}

static_assert(kSlope * 7 + kIntercept + residual_of(7) == 0);
static_assert(kSlope * 15 + kIntercept + residual_of(15) == kSteps);

struct ResidualTable {
  std::uint32_t words[4];  // bytes of codes 0 to 3, 4 to 7, 8 to 11, 12 to 15
};

// The bytes that stand for codes `code` and `code + 8`: each makes up for the -1 that a negative
// partner adds. Not constant, so that it does not compile, where there are none.
constexpr ResidualTable make_residual_table() {
  ResidualTable table = {};
  for (int code = 0; code < 8; ++code) {
    bool found = false;
    for (int signs = 0; signs < 4 && !found; ++signs) {
      const int low_negative = signs & 1;
      const int high_negative = signs >> 1;
      const int low = residual_of(code) + high_negative;
      const int high = residual_of(code + 8) + low_negative;
      found = (low < 0) == (low_negative == 1) && (high < 0) == (high_negative == 1) &&
              low >= -128 && low <= 127 && high >= -128 && high <= 127;
      if (!found) continue;
      const int shift = code % 4 * 8;
      table.words[code / 4] |= (static_cast<std::uint32_t>(low) & 255u) << shift;
      table.words[2 + code / 4] |= (static_cast<std::uint32_t>(high) & 255u) << shift;
    }
    if (!found) throw "no pair of bytes";
  }
  return table;
}

#if __CUDA_ARCH__ >= 800

// sum += A B with signed bytes: A of 16 rows x 32, B of 32 x 8, as mma.m16n8k32 lays them out.
__device__ __forceinline__ void mma_signed(int (&sum)[4], const std::uint32_t (&a)[4],
                                           std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The same with unsigned bytes in A.
__device__ __forceinline__ void mma_unsigned(int (&sum)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif

__device__ __forceinline__ std::uint32_t select_bytes(std::uint32_t low, std::uint32_t high,
                                                      std::uint32_t selectors) {
  std::uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selectors));
  return result;
}

// word >> 16 as a dot product: shifts share a pipe with prmt, which is the busy one.
__device__ __forceinline__ std::uint32_t upper_half(std::uint32_t word) {
  std::uint32_t result;
  asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(word), "r"(0x0100u), "r"(0u));
  return result;
}

// A packed word of a lane's first row (lane / 4) and one of its second (8 further down).
struct WordPair {
  std::uint32_t first;
  std::uint32_t second;
};

// Sums over a block, of a lane's two rows and two columns: the two planes of the activations, of
// which the first counts 256 fold. Even: high nibbles, which count 16 fold.
struct BlockSums {
  int residual[4] = {0, 0, 0, 0};
  int even[4] = {0, 0, 0, 0};
  int odd[4] = {0, 0, 0, 0};

  // Sum of codebook * kSteps - kIntercept times the activations, of row 0 or 1.
  __device__ __forceinline__ float total(int row) const {
    const int line =
        (odd[2 * row] * 256 + odd[2 * row + 1]) * 16 + even[2 * row] * 256 + even[2 * row + 1];
    const int rest = residual[2 * row] * 256 + residual[2 * row + 1];
    constexpr auto kLine = static_cast<float>(kSlope / 16);
    return __fmaf_rn(static_cast<float>(line), kLine, static_cast<float>(rest));
  }
};

#if __CUDA_ARCH__ >= 800

// Operand A of two neighbouring words: 16 weights of each of the lane's rows.
struct WeightOperands {
  std::uint32_t low[2][4];   // residuals of codes 0 to 7 of each word, else 0 or -1
  std::uint32_t high[2][4];  // of codes 8 to 15
  std::uint32_t even[4];     // high nibbles, 16 fold, of both words
  std::uint32_t odd[4];      // low nibbles

  __device__ __forceinline__ WeightOperands(const ResidualTable& table,
                                            const WordPair (&words)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      look_up(low[i], table.words[0], table.words[1], words[i]);
      look_up(high[i], table.words[2], table.words[3],
              {words[i].first ^ 0x88888888u, words[i].second ^ 0x88888888u});
      even[2 * i] = words[i].first & 0xf0f0f0f0u;
      even[2 * i + 1] = words[i].second & 0xf0f0f0f0u;
      odd[2 * i] = words[i].first & 0x0f0f0f0fu;
      odd[2 * i + 1] = words[i].second & 0x0f0f0f0fu;
    }
  }

 private:
  __device__ static __forceinline__ void look_up(std::uint32_t (&bytes)[4], std::uint32_t table0,
                                                 std::uint32_t table1, WordPair selectors) {
    bytes[0] = select_bytes(table0, table1, selectors.first);
    bytes[1] = select_bytes(table0, table1, selectors.second);
    bytes[2] = select_bytes(table0, table1, upper_half(selectors.first));
    bytes[3] = select_bytes(table0, table1, upper_half(selectors.second));
  }
};

// Operand B that goes with it: the activations of the 16 weights, a byte each.
struct ActivationOperands {
  uint2 mixed[2];  // of each word, in the order of its nibbles: the odd one of a pair first
  uint2 even;      // of the high nibbles, four of each word
  uint2 odd;       // of the low nibbles
};

__device__ __forceinline__ void multiply(BlockSums& sums, const WeightOperands& weights,
                                         const ActivationOperands& activations) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    mma_signed(sums.residual, weights.low[i], activations.mixed[i].x, activations.mixed[i].y);
    mma_signed(sums.residual, weights.high[i], activations.mixed[i].x, activations.mixed[i].y);
  }
  mma_unsigned(sums.even, weights.even, activations.even.x, activations.even.y);
  mma_unsigned(sums.odd, weights.odd, activations.odd.x, activations.odd.y);
}

#endif

}  // namespace nf4bench::kernels::cuda
