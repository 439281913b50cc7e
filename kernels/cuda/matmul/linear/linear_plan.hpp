#pragma once

// How mma_linear cuts a product, what of it lies where in shared memory, and which products it can
// do. C++17, for the host as well.

#include "cuda/matmul/linear/byte_tables.hpp"
#include "cuda/matmul/schedule/unit_plan.hpp"

namespace nf4bench::kernels::cuda {

inline constexpr int kLineBlockBytes = 128;  // of a block's activations, as LineAndResidual says

// Where things lie in dynamic shared memory with one token, in bytes.
struct VectorLayout {
  static constexpr int kBarriers = kUnitWarps * kUnitSlots * kBoxSize;
  static constexpr int kMap = kBarriers + kUnitWarps * kUnitSlots * 8;
  // A block is read here in place of activations, beside the same of a real block: the 32 keep
  // the banks apart.
  static constexpr int kZeros = kMap + 1024 + 32;
  static constexpr int kTables = kMap + 1024 + 192;
  static constexpr int kTerms = kMap + 1024 + 256;

  int plane_bytes;  // from a plane of the activations to the other; 16 keep the banks apart
  int planes;
  int partials;
  int bytes;

  NF4BENCH_HOST_DEVICE VectorLayout(int boxes, int block_units) {
    plane_bytes = boxes * 4 * kLineBlockBytes + 16;
    planes = kTerms + boxes * 4 * 8;
    partials = (planes + 2 * plane_bytes + 255) / 256 * 256;
    bytes = partials + block_units * kBoxRows * 16;
  }
};

inline constexpr int kMostIntegerTokens = 4;

// The image of the activations of 256 inputs: operands of each block, 16 bytes a lane at
// operand_place(), then a term of each block and token: the step, and what the intercept adds.
struct BoxImage {
  static constexpr int kBlockBytes = 32 * 16;
  static constexpr int kTerms = 4 * kBlockBytes;
  static constexpr int kBlockTermBytes = kMostIntegerTokens * 8;
  static constexpr int kBytes = kTerms + 4 * kBlockTermBytes;
};

// Where things lie in dynamic shared memory with two to four tokens, in bytes.
struct TokensLayout {
  static constexpr int kBarriers = kUnitWarps * kUnitSlots * kBoxSize;
  static constexpr int kMap = kBarriers + kUnitWarps * kUnitSlots * 8;
  static constexpr int kTables = kMap + 1024;
  static constexpr int kZeros = kTables + static_cast<int>(sizeof(ByteTable));
  static constexpr int kImage = kZeros + 16;
  static constexpr int kUnitFloats = kBoxRows * kMostIntegerTokens;  // sums of a unit

  int partials;
  int bytes;

  NF4BENCH_HOST_DEVICE TokensLayout(int slice_boxes, int slice_units) {
    partials = kImage + slice_boxes * BoxImage::kBytes;
    bytes = partials + slice_units * kUnitFloats * 4;
  }
};

inline PlannedUnits plan_vector(const Problem& problem, const DeviceFacts& device) {
  const int boxes = count_of(problem.inputs, kBoxColumns);
  return plan_units(problem, device, {1, 4, 100},
                    [&](int, int units) { return VectorLayout(boxes, units).bytes; });
}

inline PlannedUnits plan_tokens(const Problem& problem, const DeviceFacts& device) {
  return plan_units(problem, device, {16, 4, 25}, [](int slice_boxes, int slice_units) {
    return TokensLayout(slice_boxes, slice_units).bytes;
  });
}

}  // namespace nf4bench::kernels::cuda
