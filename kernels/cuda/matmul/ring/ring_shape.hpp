#pragma once

// The tile of mma_ring, and where its parts lie in shared memory. C++17, for the host as well.
//
// A block (CTA) multiplies tiles of kRows weights' rows and kTokens tokens, and walks K in stages
// of kInputs. A ring of kStages slots holds what a stage needs. Shared memory, from its start:
//
//   pair table   256 entries of 128 bytes: an entry has one copy a lane, so that look-ups of any
//                bytes by a warp touch 32 banks
//   ring         kStages slots of { weights, tokens, scales, whether a scale is beyond float16 }
//   exchange     where the warps that did different inputs of a row add up their accumulators
//   map          of nested scales: 256 floats
//   barriers     full and empty, one of each a slot

#include "nf4/format.hpp"

#include <cstdint>

namespace nf4bench::kernels::cuda {

// What scales are multiplied with, in float32: accumulators of a block, which are
// float32 or float16; or weights before they are multiplied, in 16 bits, or in float32 where scales
// are beyond the range of float16.
enum class ScaleTarget { kAccumulators, kFloat16Accumulators, kWeights, kWideWeights };

inline constexpr int kPairTableBytes = 256 * 128;

// Warps are laid out kWarpsN x kWarpsK over rows and inputs; a warp has kTilesN mma tiles of 16
// rows and kTilesM of 8 tokens. kProducerWarps more warps copy; with none the consumers do. A stage
// is kStageBlocks blocks of kBlockInputs inputs, which are 64, or 32 for weights of that blocksize.
// With kTransposed weights lie as [inputs, rows].
template <int kWarpsNValue, int kWarpsKValue, int kTilesNValue, int kTilesMValue,
          int kStageBlocksValue, int kStagesValue, int kProducerWarpsValue,
          int kBlockInputsValue = 64, bool kTransposedValue = false>
struct RingShape {
  static constexpr int kWarpsN = kWarpsNValue;
  static constexpr int kWarpsK = kWarpsKValue;
  static constexpr int kTilesN = kTilesNValue;
  static constexpr int kTilesM = kTilesMValue;
  static constexpr int kStageBlocks = kStageBlocksValue;
  static constexpr int kStages = kStagesValue;
  static constexpr int kProducerWarps = kProducerWarpsValue;
  static constexpr int kBlockInputs = kBlockInputsValue;
  static constexpr bool kTransposed = kTransposedValue;
  using Transposed = RingShape<kWarpsN, kWarpsK, kTilesN, kTilesM, kStageBlocks, kStages,
                               kProducerWarps, kBlockInputs, true>;
  static_assert(kBlockInputs == 64 || (kBlockInputs == 32 && !kTransposed));

  static constexpr int kConsumerWarps = kWarpsN * kWarpsK;
  static constexpr int kConsumers = kConsumerWarps * 32;
  static constexpr int kProducers = kProducerWarps > 0 ? kProducerWarps * 32 : kConsumers;
  static constexpr int kThreads = kConsumers + kProducerWarps * 32;
  static constexpr int kWarpRows = kTilesN * 16;
  static constexpr int kRows = kWarpsN * kWarpRows;
  // A lane, 4 g + t, has neighbouring rows of each mma tile: kLaneRows g + kTileRows i of the
  // warp's for tile i, and the one behind it. Where weights lie transposed, all of a lane's are
  // neighbours.
  static constexpr int kLaneRows = kTransposed ? 2 * kTilesN : 2;
  static constexpr int kTileRows = kTransposed ? 2 : 16;
  static constexpr int kTokens = kTilesM * 8;
  static constexpr int kInputs = kStageBlocks * kBlockInputs;
  static constexpr int kWarpBlocks = kStageBlocks / kWarpsK;  // of a stage, that a warp multiplies
  static_assert(kStageBlocks % kWarpsK == 0 && kTilesN % kWarpsK == 0);

  // A group: the warps of the same rows. Once they have added up, each has kOwnTiles of the rows'
  // tiles, in pieces of 16 bytes a lane.
  static constexpr int kGroups = kWarpsN;
  static constexpr int kGroupThreads = kWarpsK * 32;
  static constexpr int kGroupBarrier = 2;  // the first's, and the others' behind it
  static constexpr int kOwnTiles = kTilesN / kWarpsK;
  static constexpr int kPieces = kOwnTiles * kTilesM;
  static constexpr int kGroupSums = kPieces * kGroupThreads * 4;  // floats

  static constexpr int kBlockBytes = kBlockInputs / 2;       // of a row of weights
  static constexpr int kTokenBlockBytes = kBlockInputs * 2;  // of a token
  static constexpr int kRowBytes = kInputs / 2;
  static_assert(kRowBytes == 64 || kRowBytes == 128);
  static constexpr int kWeightBytes = kRows * kRowBytes;
  static constexpr int kTokenBytes = kStageBlocks * kTokens * kTokenBlockBytes;
  // A float32 for each block of a row. Transposed: two 16-bit factors an input of each column of 64
  // rows, whose weights lie in the same block.
  static constexpr int kScaleBytes = kStageBlocks * kRows * 4;
  static constexpr int kColumns = kRows / 64;
  static_assert(!kTransposed || (kRows % 64 == 0 && 4 % kColumns == 0));

  // Of a slot.
  static constexpr int kTokensAt = kWeightBytes;
  static constexpr int kScalesAt = kTokensAt + kTokenBytes;
  static constexpr int kWideAt = kScalesAt + kScaleBytes;  // a word for each producer warp
  static constexpr int kSlotBytes = kWideAt + 32;

  static constexpr int kRing = kPairTableBytes;
  static constexpr int kExchange = kRing + kStages * kSlotBytes;
  static constexpr int kGroupExchangeBytes = kWarpsK > 1 ? kWarpsK* kTilesN * 512 : 0;
  static constexpr int kMap = kExchange + kGroups * kGroupExchangeBytes;
  static constexpr int kBarriers = kMap + 256 * 4;
  static constexpr int kBytes = kBarriers + 2 * kStages * 8;
  static constexpr bool kIsTurings = kBytes <= 64 << 10;
};

// The rows of an mma tile of 16 in the order of the tensor core, which shared memory has them in:
// row g of a lane's two is 2g of the weight, row g + 8 is 2g + 1, so that a lane stores neighbours.
NF4BENCH_HOST_DEVICE constexpr int row_of_place(int place) {
  return (place & ~15) | (place & 7) << 1 | (place >> 3 & 1);
}

// Weights of a stage: [place of the row][block][bytes]. A quad of lanes reads a block of a row, and
// lanes that are served together the same block of consecutive rows. In each 128 bytes, which are
// one row or two, blocks change places so that these are in different banks.
template <class Shape>
NF4BENCH_HOST_DEVICE constexpr int weight_place(int place, int block) {
  const int swizzle = place / (128 / Shape::kRowBytes) % Shape::kStageBlocks;
  return place * Shape::kRowBytes + (block ^ swizzle) * Shape::kBlockBytes;
}

// Weights of a stage that lie transposed: [column of 64 rows][place of the input][32 bytes]. Lane t
// of a quad has inputs 16t to 16t + 15 of a block, as of tokens. Inputs that the four read together
// lie in 128 bytes, in other banks for each column, so that copies of an input find them apart.
inline constexpr int kColumnRowBytes = 32;
NF4BENCH_HOST_DEVICE constexpr int input_of_place(int place) {
  return (place & ~63) | (place & 3) << 4 | (place >> 2 & 15);
}
template <class Shape>
NF4BENCH_HOST_DEVICE constexpr int transposed_weight_place(int column, int place) {
  const int swizzle = column * (4 / Shape::kColumns) & 3;
  return (column * Shape::kInputs + (place ^ swizzle)) * kColumnRowBytes;
}

// Tokens of a stage: [block][token][chunks of 16 bytes]. Eight lanes, which are served together,
// read two tokens. Of 64 inputs lane t of a quad reads chunks 2t and 2t + 1, one at a time, so that
// one of two neighbouring tokens has its chunks swapped in pairs; of 32 inputs it reads chunk t.
template <class Shape>
NF4BENCH_HOST_DEVICE constexpr int token_place(int token, int block, int chunk) {
  const int swizzle = Shape::kBlockInputs == 64 ? token & 1 : 0;
  return (block * Shape::kTokens + token) * Shape::kTokenBlockBytes + (chunk ^ swizzle) * 16;
}

}  // namespace nf4bench::kernels::cuda
