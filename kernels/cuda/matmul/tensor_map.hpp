#pragma once

// The packed weight and the activations as the copy engine sees them: matrices, read in boxes.

#include "cuda/driver.hpp"
#include "cuda/matmul/layout.cuh"
#include "variant.hpp"

#include <cuda.h>
#include <cuda_runtime.h>

namespace nf4bench::kernels::cuda {

// A matrix in rows without gaps.
struct TensorMatrix {
  CUtensorMapDataType type;
  const void* first;
  std::int64_t columns;
  std::int64_t rows;
  std::int64_t row_bytes;
  // Where boxes have rows of both halves of a matrix of a stack in turns: rows of a half.
  std::int64_t half_rows = 0;
};

// A map whose boxes are columns x rows, kBoxBytes a row, swizzled() as layout.cuh draws it. Beyond
// the matrix's edges a box holds zeros. All zero on devices before Hopper, which have no copy
// engine, and where the driver refuses.
inline CUtensorMap tensor_map(const TensorMatrix& matrix, const DeviceFacts& device,
                              unsigned box_columns, unsigned box_rows,
                              CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B) {
  CUtensorMap map = {};
  if (device.compute_capability < 90) return map;
  static auto* const encode =
      driver_function<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  if (encode == nullptr) return map;
  const auto row_bytes = static_cast<cuuint64_t>(matrix.row_bytes);
  const auto rows = static_cast<cuuint64_t>(matrix.rows);
  cuuint32_t rank = 2;
  cuuint64_t sizes[4] = {static_cast<cuuint64_t>(matrix.columns), rows};
  cuuint64_t strides[3] = {row_bytes};
  cuuint32_t box[4] = {box_columns, box_rows};
  if (matrix.half_rows > 0) {  // dimensions: columns, halves, their rows, matrices
    const auto half_rows = static_cast<cuuint64_t>(matrix.half_rows);
    rank = 4;
    sizes[1] = box[1] = 2;
    strides[0] = half_rows * row_bytes;
    sizes[2] = half_rows;
    strides[1] = row_bytes;
    box[2] = box_rows / 2;
    sizes[3] = rows / (2 * half_rows);
    strides[2] = 2 * half_rows * row_bytes;
    box[3] = 1;
  }
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  encode(&map, matrix.type, rank, const_cast<void*>(matrix.first), sizes, strides, box, steps,
         CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

// Of the packed weight as bytes; `half_rows` as TensorMatrix says.
inline CUtensorMap weight_map(const Job& job, const DeviceFacts& device, unsigned rows,
                              std::int64_t half_rows = 0) {
  return tensor_map({CU_TENSOR_MAP_DATA_TYPE_UINT8, job.packed, job.inputs / 2, job.outputs,
                     job.inputs / 2, half_rows},
                    device, kBoxBytes, rows);
}

// Of a packed weight that lies as [inputs, outputs], or a stack of such: boxes of 256 inputs of so
// many bytes, swizzled within these.
inline CUtensorMap transposed_map(const Job& job, const DeviceFacts& device, unsigned box_bytes) {
  const CUtensorMapSwizzle swizzle = box_bytes == 32   ? CU_TENSOR_MAP_SWIZZLE_32B
                                     : box_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                       : CU_TENSOR_MAP_SWIZZLE_128B;
  return tensor_map({CU_TENSOR_MAP_DATA_TYPE_UINT8, job.packed, job.outputs / 2,
                     job.elements / job.outputs, job.outputs / 2},
                    device, box_bytes, 256, swizzle);
}

// Of 16-bit activations.
inline CUtensorMap token_map(const Job& job, const DeviceFacts& device, unsigned tokens) {
  return tensor_map(
      {CU_TENSOR_MAP_DATA_TYPE_UINT16, job.input, job.inputs, job.tokens, job.inputs * 2}, device,
      kBoxBytes / 2, tokens);
}

}  // namespace nf4bench::kernels::cuda
