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
  std::int64_t pairs =
      0;  // of a matrix of a stack, whose boxes have rows of both its halves in turns
};

// A map whose boxes are columns x rows, kBoxBytes a row, swizzled() as layout.cuh draws
// it. Beyond the matrix's edges a box holds zeros. All
// zero on devices before Hopper, which have no copy engine, and where the driver refuses.
inline CUtensorMap tensor_map(const TensorMatrix& matrix, const DeviceFacts& device,
                              unsigned box_columns, unsigned box_rows,
                              CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B) {
  CUtensorMap map = {};
  if (device.compute_capability < 90) return map;
  static auto* const encode =
      driver_function<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  if (encode == nullptr) return map;
  // Of pairs of rows the first is one of the upper half of its matrix.
  const auto row_bytes = static_cast<cuuint64_t>(matrix.row_bytes);
  const auto columns = static_cast<cuuint64_t>(matrix.columns);
  const auto rows = static_cast<cuuint64_t>(matrix.rows);
  const auto pairs = static_cast<cuuint64_t>(matrix.pairs);
  const cuuint64_t sizes[4] = {columns, pairs > 0 ? 2 : rows, pairs,
                               pairs > 0 ? rows / (2 * pairs) : 0};
  const cuuint64_t strides[3] = {pairs > 0 ? pairs * row_bytes : row_bytes, row_bytes,
                                 2 * pairs * row_bytes};
  const cuuint32_t box[4] = {box_columns, pairs > 0 ? 2 : box_rows, box_rows / 2, 1};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  encode(&map, matrix.type, pairs > 0 ? 4 : 2, const_cast<void*>(matrix.first), sizes, strides, box,
         steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

// Of the packed weight as bytes.
inline CUtensorMap weight_map(const Job& job, const DeviceFacts& device, unsigned rows,
                              std::int64_t pairs = 0) {
  return tensor_map({CU_TENSOR_MAP_DATA_TYPE_UINT8, job.packed, job.inputs / 2, job.outputs,
                     job.inputs / 2, pairs},
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
