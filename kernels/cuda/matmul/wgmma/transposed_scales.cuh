#pragma once

// The scales of weights that lie transposed, [inputs, outputs]: the 64 rows of a warpgroup have one
// in each input. Those who multiply have inputs in pairs, a register each, so that scales come in
// pairs, too. In the slot of a warpgroup those of lane t of a quad lie together:
//
//   [quarter of the stage][t][eighth i of the quarter]: inputs 8i + 2t and 8i + 2t + 1 of 64
//
// In bfloat16 a scale is one factor. In float16, which has not the range of scales, it is two: a
// power of two, and what is left.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/pair_table.cuh"
#include "cuda/matmul/scales/transposed_blocks.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"
#include "cuda/memory.cuh"

namespace nf4bench::kernels::cuda {

inline constexpr int kFactorBytes = 256 * 2;               // of a stage
inline constexpr int kGroupScaleBytes = 2 * kFactorBytes;  // of a warpgroup

template <OutputType kType>
inline constexpr int kScaleFactors = kType == OutputType::kFloat16 ? 2 : 1;

// Where the scales of lane t of a quad begin, of a quarter of a stage.
__host__ __device__ constexpr int transposed_scale_place(int quarter, int t) {
  return (quarter * 4 + t) * 32;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Has L2 fetch what the scales of a stage are made of: each input's lies in a line of memory of its
// own. By a warp, which runs ahead of those who load it.
template <class Shape, class Walk>
__device__ __forceinline__ void prefetch_transposed_scales(const Job& job, const Walk& walk) {
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const TransposedBlocks stage(job, walk, 256);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int input = i * 32 + lane;
    if (input < stage.inputs) prefetch_scale(job, stage.block(job, input, 0));
  }
}

// One of kScaleThreads threads. Of each warpgroup's scales it has those of every kScaleThreads-th
// pair of inputs. It asks for them two stages ahead.
template <class Shape, OutputType kType, class Walk>
class TransposedScaleProducer {
 public:
  __device__ __forceinline__ TransposedScaleProducer(const Job& job, const Walk& walk,
                                                     std::uint8_t* shared)
      : job_(job),
        rings_(shared_address(shared)),
        lane_(static_cast<int>(threadIdx.x) % kScaleThreads),
        nested_{reinterpret_cast<const float*>(shared + Shape::kMap), 0.0f},
        slots_(shared + Shape::kScales),
        walk_(walk) {
    if (job.nested) nested_.offset = nested_offset(job);
  }

  __device__ __forceinline__ void produce() {
    Asked now = ask();
    Asked next = ask();
    while (now.stage.inputs > 0) {
      wait_for_phase(rings_.weights.empty(slot_.slot), slot_.parity ^ 1);
      store(now, slots_ + slot_.slot * Shape::kScaleSlotBytes);
      __syncwarp();
      if (threadIdx.x % 32 == 0) arrive(rings_.weights.full(slot_.slot));
      slot_.advance();
      now = next;
      next = ask();
    }
  }

 private:
  static constexpr int kPairs = 256 / 2 / kScaleThreads;  // of a thread
  static constexpr int kGroups = Shape::kGroups;

  struct Asked {
    TransposedBlocks stage;
    std::uint32_t raw[kPairs][2][kGroups];  // codes, or the bits of scales
  };

  __device__ __forceinline__ int input_of(int pair) const {
    return 2 * (lane_ + pair * kScaleThreads);
  }

  // Asks for the scales of the next stage.
  __device__ __forceinline__ Asked ask() {
    Asked asked = {};
    if (!walk_.valid()) return asked;
    asked.stage = TransposedBlocks(job_, walk_, 256);
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int input = input_of(pair) + i;
        if (input >= asked.stage.inputs) continue;
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          const unsigned block = asked.stage.block(job_, input, group);
          asked.raw[pair][i][group] = job_.nested ? __ldg(job_.absmax_codes + block)
                                                  : __float_as_uint(__ldg(job_.absmax + block));
        }
      }
    }
    walk_.advance();
    return asked;
  }

  // Zero beyond the last input.
  __device__ __forceinline__ float scale(const Asked& asked, int pair, int i, int group) const {
    const int input = input_of(pair) + i;
    if (input >= asked.stage.inputs) return 0.0f;
    const std::uint32_t raw = asked.raw[pair][i][group];
    float scale = __uint_as_float(raw);
    if (job_.nested) {
      const unsigned block = asked.stage.block(job_, input, group);
      scale = nested_.scale(raw, __ldg(job_.nested_absmax + (block >> 8)));
    }
    return scale * (1.0f / kPairFactor<kType>);
  }

  __device__ __forceinline__ void store(const Asked& asked, std::uint8_t* slot) const {
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      const int input = input_of(pair);
      std::uint8_t* const at =
          slot + transposed_scale_place(input / 64, input % 8 / 2) + input % 64 / 8 * 4;
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        float first = scale(asked, pair, 0, group);
        float second = scale(asked, pair, 1, group);
        std::uint8_t* const to = at + group * kGroupScaleBytes;
        if constexpr (kScaleFactors<kType> == 2) {
          const float power_of_first = take_power(first);
          *reinterpret_cast<std::uint32_t*>(to + kFactorBytes) =
              pack_pair<kType>(power_of_first, take_power(second));
        }
        *reinterpret_cast<std::uint32_t*>(to) = pack_pair<kType>(first, second);
      }
    }
  }

  const Job& job_;
  WgmmaRings<Shape> rings_;
  int lane_;
  NestedMap nested_;
  std::uint8_t* slots_;
  Walk walk_;
  RingPosition<Shape::kWeightSlots> slot_;
};

#endif

}  // namespace nf4bench::kernels::cuda
