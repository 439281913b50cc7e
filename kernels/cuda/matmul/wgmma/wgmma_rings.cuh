#pragma once

// What the warpgroup kernel is compiled for, where things lie in its shared memory, and the rings
// that its producers fill and its consumers empty.

#include "cuda/matmul/persistent_launch.cuh"
#include "cuda/matmul/schedule/stage_walk.cuh"
#include "cuda/matmul/tensor_map.hpp"
#include "cuda/matmul/wgmma/config.hpp"
#include "cuda/ptx.cuh"
#include "cuda/ptx_hopper.cuh"

namespace nf4bench::kernels::cuda {

// Warps of the producer warpgroup, which is the last one.
enum ProducerWarp { kWeightsWarp = 0, kTokensWarp = 1, kFirstScalesWarp = 2 };
inline constexpr int kScaleThreads = 64;
inline constexpr int kScaleWarps = kScaleThreads / 32;

inline constexpr int kGroupBoxBytes = kGroupRows * kBoxBytes;
inline constexpr int kQuarterInputs = 64;  // of a quarter of a stage

// How a slot of the ring of activations has them: 64 inputs of all tokens behind each other,
// swizzled, or a stage of each token as half_place_in_row() says.
enum class TokenLayout { kSwizzled, kRows };

// What follows from a WgmmaConfig, whose first six fields these are.
template <int kTokensValue, int kGroupsValue, int kWeightSlotsValue, int kTokenSlotsValue,
          int kSlotQuartersValue, bool kTransposedValue = false,
          TokenLayout kTokenLayoutValue = TokenLayout::kSwizzled>
struct WgmmaShape {
  static constexpr int kTokens = kTokensValue;
  static constexpr int kGroups = kGroupsValue;
  static constexpr int kGroupThreads = 128;
  static constexpr int kGroupBarrier = kWarpgroupBarrier;
  static constexpr int kWeightSlots = kWeightSlotsValue;
  static constexpr int kTokenSlots = kTokenSlotsValue;
  static constexpr int kSlotQuarters = kSlotQuartersValue;
  static constexpr bool kTransposed = kTransposedValue;
  static constexpr TokenLayout kTokenLayout = kTokenLayoutValue;
  static constexpr bool kWarpProducts = !kTransposed && kTokens <= kMostWarpTokens;
  // Scales are multiplied with sums over a block where these find registers, else with weights, and
  // so are those of transposed ones, which change with each input.
  static constexpr bool kScaleSums =
      !kTransposed && (kTokens <= 32 || (kTokens == 64 && kGroups == 2));

  // Whether the quarters are left out that a row's last stage does not have. ptxas would let no
  // products of the largest shape run beside each other then.
  static constexpr bool kEndsEarly = kTokens <= 128;
  // Whether blocks of a cluster tell each other before their last stage that they are ready for
  // sums. With more tokens the loop that can do that takes longer than is won.
  static constexpr bool kArrivesEarly = kTokens <= 32;
  // Before regrouped activations come as many stages of plain ones as there are slots for.
  static constexpr bool kCanRegroup = can_regroup(kTokens, kGroups, kTransposed);
  static constexpr int kPlainStages = kTokenSlots * kSlotQuarters / 4;

  static constexpr int kRows = kGroups * kGroupRows;  // of a tile
  static constexpr int kThreads = kGroups * 128 + 128;
  static constexpr int kBlocks = blocks_of(kGroups);
  static constexpr int kSums = kTokens / 2;  // of a lane
  static constexpr int kPieces = kSums / 4;  // of 16 bytes, that these are
  // Registers a thread that a block begins with, and that a consumer goes on with.
  static constexpr int kRegisters = 65536 / (kThreads * kBlocks) / 8 * 8;
  static constexpr int kProducerRegisters = kGroups == 3 ? 48 : 40;
  static constexpr int kConsumerRegisters =
      (kRegisters * kThreads - kProducerRegisters * 128) / (kGroups * 128) / 8 * 8;

  // Shared memory, in bytes from its start.
  static constexpr int kTable = 0;
  static constexpr int kWeights = 256 * 32 * 4;
  static constexpr int kWeightSlotBytes = kGroups * kGroupBoxBytes;
  static constexpr int kActivations = kWeights + kWeightSlots * kWeightSlotBytes;
  static constexpr int kQuarterBytes = kTokens * 128;
  static constexpr int kTokenSlotBytes =
      kTokenLayout == TokenLayout::kRows ? kTokens * kTokenRowBytes : kSlotQuarters * kQuarterBytes;
  static constexpr int kScales = kActivations + kTokenSlots * kTokenSlotBytes;
  // Of four blocks of a row: as float32, or as 16-bit values. Transposed: of each input two 16-bit
  // factors for a warpgroup's rows.
  static constexpr int kRowScaleBytes = kScaleSums ? 16 : 8;
  static constexpr int kScaleSlotBytes = kTransposed ? kGroups * 256 * 4 : kRows * kRowScaleBytes;
  static constexpr int kMap = kScales + kWeightSlots * kScaleSlotBytes;
  static constexpr int kInverses = kMap + 1024 + 16;  // behind the map its greatest magnitude
  // Of as many tiles as may be under way at once: one whose outputs are stored, and one a slot.
  static constexpr int kFactorSlots = kWeightSlots + 1;
  static constexpr int kInverseBytes = kScaleSums || kTransposed ? 0 : kFactorSlots * kRows * 4;
  static constexpr int kBarriers = kInverses + kInverseBytes;
  static constexpr int kZero = kBarriers + 2 * 8 * (kWeightSlots + kTokenSlots);
  static constexpr int kJoin = kZero + 8;  // a barrier that counts sums
  // Where the quarters of a stage are added up that warps have multiplied: of each warpgroup all
  // sums of each quarter.
  static constexpr int kExchange = (kJoin + 8 + 15) / 16 * 16;
  static constexpr int kGroupExchangeBytes = kWarpProducts ? 4 * kGroupRows * kTokens * 4 : 0;
  static constexpr int kBytes = kExchange + kGroups * kGroupExchangeBytes;

  static constexpr int kGroupSums = kGroupRows * kTokens;  // of a consumer warpgroup

  // Of so many blocks of a cluster each adds up some pieces of a lane's sums: so many at most, for
  // which the others send it so many bytes. Of two each keeps its own.
  static constexpr int kPieceBytes = kRows * 32;  // of all lanes
  __host__ __device__ static constexpr bool is_pair(int blocks) {
    return kPieces > 1 && blocks == 2;
  }
  __host__ __device__ static constexpr int cluster_share(int blocks) {
    return (kPieces + blocks - 1) / blocks;
  }
  __host__ __device__ static constexpr int cluster_bytes(int blocks) {
    return cluster_share(blocks) * (is_pair(blocks) ? 1 : blocks) * kPieceBytes;
  }
};

// The weight as its producer takes boxes of it; `half_rows` as TensorMatrix says.
template <class Shape>
CUtensorMap weights_of(const Job& job, const DeviceFacts& device, std::int64_t half_rows = 0) {
  return Shape::kTransposed ? transposed_map(job, device, Shape::kGroups * kTransposedRowBytes)
                            : weight_map(job, device, kGroupRows, half_rows);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Which slot of a ring comes next, and the parity of its phase. A producer waits for the parity of
// the phase before the first one, which has ended already.
template <int kSlots>
struct RingPosition {
  int slot = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++slot == kSlots) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// Where the barriers of a ring lie: one a slot that says full, then one that says empty.
template <int kSlots>
struct RingBarriers {
  std::uint32_t first;

  __device__ __forceinline__ std::uint32_t full(int slot) const { return first + 8 * slot; }
  __device__ __forceinline__ std::uint32_t empty(int slot) const {
    return first + 8 * (kSlots + slot);
  }
  __device__ __forceinline__ void init(int producers, int consumers) const {
    for (int slot = 0; slot < kSlots; ++slot) {
      init_barrier(full(slot), producers);
      init_barrier(empty(slot), consumers);
    }
  }
};

// Arrives at a barrier that says empty. `read` is mixed of all that was loaded from the slot, and
// `zero` is one that the compiler cannot see through: a load whose result has been used is over, so
// that no copy can overtake it.
__device__ __forceinline__ void arrive_after_reading(std::uint32_t empty, std::uint32_t read,
                                                     std::uint32_t zero) {
  arrive(empty + (read & zero));
}

template <class Shape>
struct WgmmaRings {
  RingBarriers<Shape::kWeightSlots> weights;
  RingBarriers<Shape::kTokenSlots> tokens;

  __device__ __forceinline__ explicit WgmmaRings(std::uint32_t shared)
      : weights{shared + Shape::kBarriers},
        tokens{shared + Shape::kBarriers + 16 * Shape::kWeightSlots} {}
};

#endif

}  // namespace nf4bench::kernels::cuda
