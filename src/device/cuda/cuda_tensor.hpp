#pragma once

#include "device/cuda/cuda_resources.hpp"
#include "device/cuda/guarded_buffer.hpp"
#include "nf4/tensor.hpp"
#include "variant.hpp"

#include <cstdint>
#include <vector>

namespace nf4bench::device {

// A tensor in device memory: several buffer sets, each with its own inputs and output. The first
// set has allocations that end exactly where their content does, the others share one.
class CudaTensor {
 public:
  // Enqueues the upload. `guard` bytes lie before and after the first set's output.
  CudaTensor(const nf4::Nf4Tensor& tensor, nf4::OutputType type, std::int64_t guard,
             const CudaStream& stream);

  // Adds sets until their bytes together are `total_bytes`, or memory or a limit is reached.
  void add_sets(std::int64_t total_bytes, const CudaStream& stream);

  // One job a set, without a workspace.
  const std::vector<kernels::Job>& jobs() const { return jobs_; }
  const GuardedBuffer& output() const { return output_; }

 private:
  // Bytes of a set by role.
  struct Sizes {
    std::int64_t packed = 0;
    std::int64_t absmax = 0;  // plain scales or nested codes
    std::int64_t nested_absmax = 0;
    std::int64_t output = 0;
    std::int64_t total() const;
  };

  Sizes sizes_;
  CudaBuffer packed_;
  CudaBuffer absmax_;
  CudaBuffer nested_absmax_;
  CudaBuffer nested_map_;
  GuardedBuffer output_;
  CudaBuffer slab_;  // the sets after the first
  std::vector<kernels::Job> jobs_;
};

// `bytes` rounded up to where a buffer of a set may begin.
constexpr std::int64_t aligned_bytes(std::int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

}  // namespace nf4bench::device
