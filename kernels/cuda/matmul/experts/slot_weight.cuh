#pragma once

#include "variant.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace nf4bench::kernels::cuda {

// What a slot's outputs are multiplied with.
__device__ __forceinline__ float slot_weight(const Job& job, std::int64_t slot) {
  if (job.slot_weights == nullptr) return 1.0f;
  switch (job.slot_weight_type) {
    case OutputType::kFloat32:
      return __ldg(static_cast<const float*>(job.slot_weights) + slot);
    case OutputType::kFloat16:
      return __half2float(__ldg(static_cast<const __half*>(job.slot_weights) + slot));
    case OutputType::kBfloat16:
      break;
  }
  return __bfloat162float(__ldg(static_cast<const __nv_bfloat16*>(job.slot_weights) + slot));
}

}  // namespace nf4bench::kernels::cuda
