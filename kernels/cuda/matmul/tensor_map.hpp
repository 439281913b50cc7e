#pragma once

// The packed weight as the copy engine sees it: a matrix of bytes, read in boxes.

#include "variant.hpp"

#include <cuda.h>
#include <cuda_runtime.h>

namespace nf4bench::kernels::cuda {

inline constexpr int kBoxBytes = 128;  // of a row: 256 weights

// A map whose boxes have `rows` rows of kBoxBytes, with their 16-byte pieces swizzled: piece p of
// row r lies where piece p ^ (r & 7) would. Beyond the weight's edges a box holds zeros. All zero
// on devices before Hopper, which have no copy engine, and where the driver refuses.
inline CUtensorMap weight_map(const Job& job, const DeviceFacts& device, unsigned rows) {
  CUtensorMap map = {};
  if (device.compute_capability < 90) return map;
  using Encode = decltype(&cuTensorMapEncodeTiled);
  // Found at run time, so that nothing links against the driver.
  static const Encode encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                     &result);
    return reinterpret_cast<Encode>(function);
  }();
  if (encode == nullptr) return map;
  const auto row_bytes = static_cast<cuuint64_t>(job.inputs / 2);
  const cuuint64_t sizes[2] = {row_bytes, static_cast<cuuint64_t>(job.outputs)};
  const cuuint64_t strides[1] = {row_bytes};
  const cuuint32_t box[2] = {kBoxBytes, rows};
  const cuuint32_t steps[2] = {1, 1};
  encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, const_cast<std::uint8_t*>(job.packed), sizes,
         strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
         CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

}  // namespace nf4bench::kernels::cuda
